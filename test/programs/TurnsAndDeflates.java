import java.util.zip.Deflater;

/** Computes in methods that call each other, and compresses, which is native code. */
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

	public static void main(String[] arguments) {
		byte[] from = new byte[200000], to = new byte[200000];
		double x = 0;

		for (int i = 0; i < from.length; i++)
			from[i] = (byte)(i * 31 ^ i >> 7);
		for (int i = 0; i < Integer.parseInt(arguments[0]); i++) {
			for (int j = 0; j < 500; j++)
				x += deeper(50, x % 1000);
			x += deflate(from, to);
		}
		System.out.println(x > 0 ? "done" : "nothing");
	}
}
