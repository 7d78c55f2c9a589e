import java.io.FileInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** Uses two seconds of CPU time before it opens its first socket, and as much while it answers requests of its own. */
public class LateServer {
	static final long BURN_TICKS = 200, REQUESTS = 20;
	static double result;

	/** Of the kernel's 100 a second. (The beans that tell it open sockets.) */
	static long spentTicks() throws IOException {
		try (FileInputStream file = new FileInputStream("/proc/thread-self/stat")) {
			String[] fields = new String(file.readAllBytes()).replaceFirst(".*\\) ", "").split(" ");

			return Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
		}
	}

	static void burn(long ticks) throws IOException {
		long end = spentTicks() + ticks;

		while (spentTicks() < end)
			for (int i = 0; i < 1_000_000; i++)
				result = result * 1.000001 + i;
	}

	static void beforeListening() throws IOException {
		burn(BURN_TICKS);
	}

	static void answer(ServerSocketChannel server) throws IOException {
		try (SocketChannel client = SocketChannel.open(server.getLocalAddress());
		     SocketChannel channel = server.accept()) {
			burn(BURN_TICKS / REQUESTS);
			channel.write(ByteBuffer.wrap(new byte[] { 1 }));
			if (client.read(ByteBuffer.allocate(1)) != 1)
				throw new IOException("no answer");
		}
	}

	public static void main(String[] arguments) throws Exception {
		beforeListening();
		try (ServerSocketChannel server = ServerSocketChannel.open()) {
			server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
			for (int i = 0; i < REQUESTS; i++)
				answer(server);
		}
		System.out.println("done");
	}
}
