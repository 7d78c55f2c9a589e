/* COUNT turns of a selector's loop that take 20 to 200 ms, one asleep, the next computing. Prints how many microseconds
 * each took, and in which method. A turn comes before that takes no time: what is done first is slow, and part of it. */
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;

public class Stalls {
	static long sink;

	static void blocking(long us) throws Exception {
		Thread.sleep(us / 1000);
	}

	static void burning(long us) {
		long end = System.nanoTime() + us * 1000;

		while (System.nanoTime() < end)
			sink++;
	}

	public static void main(String[] arguments) throws Exception {
		int count = Integer.parseInt(arguments[0]);
		Selector selector = Selector.open();
		Pipe pipe = Pipe.open();
		ByteBuffer bytes = ByteBuffer.allocate(16);

		pipe.source().configureBlocking(false);
		pipe.source().register(selector, SelectionKey.OP_READ);
		Thread.sleep(5000);
		for (int i = -1; i < count; i++) {
			long us = i < 0 ? 0 : 20000 + 180000L * i / Math.max(count - 1, 1), began;
			String line;

			pipe.sink().write(ByteBuffer.wrap(new byte[] { 1 }));
			selector.select(1000);
			selector.selectedKeys().clear();
			bytes.clear();
			pipe.source().read(bytes);
			began = System.nanoTime();
			if (i % 2 == 0)
				blocking(us);
			else
				burning(us);
			line = (System.nanoTime() - began) / 1000 + (i % 2 == 0 ? " blocking\n" : " burning\n");
			System.out.print(i < 0 ? "" : line);
			selector.select(2);
		}
	}
}
