import java.nio.file.Files;
import java.nio.file.Path;

/** Ends as soon as the file exists that STARTED names. */
public class EndsAtStart {
	public static void main(String[] arguments) throws Exception {
		Path started = Path.of(System.getenv("STARTED"));

		for (int i = 0; i < 1000 && !Files.exists(started); i++)
			Thread.sleep(10);
		System.out.println(Files.exists(started) ? "done" : "not started");
	}
}
