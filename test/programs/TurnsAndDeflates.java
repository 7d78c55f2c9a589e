import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.zip.Deflater;

/** Computes in methods that call each other, and compresses, which is native code, for a while of its CPU time. */
public class TurnsAndDeflates {
	static double turn(double x) {
		for (int i = 0; i < 1000; i++)
			x = x * 1.000001 + i;
		return x;
	}

	static double deeper(int depth, double x) {
		return depth == 0 ? turn(x) : deeper(depth - 1, x) + 1;
	}

	static int deflate(byte[] from, byte[] to) {
		Deflater deflater = new Deflater();
		deflater.setInput(from);
		deflater.finish();
		int length = deflater.deflate(to);
		deflater.end();
		return length;
	}

	public static void main(String[] arguments) throws InterruptedException {
		ThreadMXBean own = ManagementFactory.getThreadMXBean();
		byte[] from = new byte[50000], to = new byte[50000];
		double x = 0;

		for (int i = 0; i < from.length; i++)
			from[i] = (byte)(i * 31 ^ i >> 7);
		// Until the machine that runs this was seen.
		Thread.sleep(1000);
		long until = own.getCurrentThreadCpuTime() + 700000000L;
		while (own.getCurrentThreadCpuTime() < until) {
			for (int j = 0; j < 100; j++)
				x += deeper(50, x % 1000);
			x += deflate(from, to);
		}
		System.out.println(x > 0 ? "done" : "nothing");
	}
}
