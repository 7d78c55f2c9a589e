import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * A server that starts to listen two seconds after its start. A client of its own asks it 20 times a second. To answer,
 * the server loads a class anew, allocates, and overflows its stack in one of ten requests. Prints how many answers were
 * right. Usage: JavaService SECONDS
 */
public class JavaService {
	static final int MASK = 0x5a5a5a5a;

	/** Is loaded anew for each request. */
	public static class Answer {
		public static int of(int question) {
			return question ^ MASK;
		}
	}

	static class FreshLoader extends ClassLoader {
		FreshLoader() {
			super(JavaService.class.getClassLoader());
		}

		Class<?> load() throws IOException {
			String name = Answer.class.getName();
			byte[] code = JavaService.class.getResourceAsStream(name + ".class").readAllBytes();

			return defineClass(name, code, 0, code.length);
		}
	}

	static int depth(int n) {
		return depth(n + 1) + 1;
	}

	static void overflow() {
		try {
			depth(0);
		} catch (StackOverflowError expected) {
			return;
		}
		throw new IllegalStateException("no overflow");
	}

	static int answer(int question) throws Exception {
		byte[][] garbage = new byte[64][];

		for (int i = 0; i < 2000; i++)
			garbage[i % garbage.length] = new byte[1024];
		if (question % 10 == 0)
			overflow();
		return (int)new FreshLoader().load().getMethod("of", int.class).invoke(null, question);
	}

	static void serve(ServerSocketChannel server) {
		try {
			while (true) {
				try (SocketChannel channel = server.accept()) {
					ByteBuffer buffer = ByteBuffer.allocate(4);

					while (buffer.hasRemaining() && channel.read(buffer) >= 0)
						;
					int question = buffer.flip().getInt();
					channel.write(ByteBuffer.allocate(4).putInt(answer(question)).flip());
				}
			}
		} catch (Exception e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	static void ask(InetSocketAddress address, int question) throws IOException {
		try (SocketChannel channel = SocketChannel.open(address)) {
			ByteBuffer buffer = ByteBuffer.allocate(4).putInt(question).flip();

			channel.write(buffer);
			buffer.clear();
			while (buffer.hasRemaining() && channel.read(buffer) >= 0)
				;
			if (buffer.flip().getInt() != (question ^ MASK))
				throw new IOException("a wrong answer");
		}
	}

	public static void main(String[] arguments) throws Exception {
		int questions = Integer.parseInt(arguments[0]) * 20;

		Thread.sleep(2000);
		ServerSocketChannel server = ServerSocketChannel.open();
		server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
		for (int i = 0; i < 4; i++) {
			Thread thread = new Thread(() -> serve(server), "server-" + i);

			thread.setDaemon(true);
			thread.start();
		}
		for (int question = 0; question < questions; question++) {
			ask((InetSocketAddress)server.getLocalAddress(), question);
			Thread.sleep(50);
		}
		System.out.println(questions + " answers");
	}
}
