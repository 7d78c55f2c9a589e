/** Overflows its stack five times, and for so many milliseconds at least, with collections of garbage between. */
public class Overflows {
	static int depth(int n) {
		return depth(n + 1) + 1;
	}

	public static void main(String[] arguments) {
		long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;

		for (int i = 0; i < 5 || System.nanoTime() < end; i++) {
			try {
				depth(0);
			} catch (StackOverflowError expected) {
				System.gc();
			}
		}
		System.out.println("done");
	}
}
