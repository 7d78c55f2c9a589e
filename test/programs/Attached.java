// A program that an agent is put into while it runs. Threads check their maps and sleep until the end of its input; then it
// prints "ok".
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

public class Attached {
    static volatile boolean isEnded;
    static final AtomicInteger mistakes = new AtomicInteger();

    static void work() {
        while (!isEnded) {
            Map<Integer, String> map = new HashMap<>();
            for (int i = 0; i < 2000; i++)
                map.put(i, "value " + i);
            for (int i = 0; i < 2000; i++)
                if (!map.get(i).equals("value " + i))
                    mistakes.incrementAndGet();
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                mistakes.incrementAndGet();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[8];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(Attached::work);
            threads[i].start();
        }
        System.out.println("ready");
        while (System.in.read() >= 0)
            ;
        isEnded = true;
        for (Thread thread : threads)
            thread.join();
        System.out.println(mistakes.get() == 0 ? "ok" : "bad");
        System.exit(mistakes.get() == 0 ? 0 : 1);
    }
}
