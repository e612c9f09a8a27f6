/* SPDX-License-Identifier: Apache-2.0 */
/* JfrShares SECONDS: threads that compute, sort and make text until each has used so much CPU time, and one that waits
 * for the lock that another one holds. */
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.Semaphore;

public class JfrShares {
    static volatile long sink;
    static final int WAITS = 5;
    static final Object lock = new Object();
    static final Semaphore isHeld = new Semaphore(0);
    static final Semaphore isTaken = new Semaphore(0);

    static long hash(long n) {
        long h = 7;
        for (long i = 0; i < n; i++)
            h = h * 31 + (i ^ (h >>> 7));
        return h;
    }

    static long sort(int n) {
        Random random = new Random(1);
        long[] numbers = new long[n];
        for (int i = 0; i < n; i++)
            numbers[i] = random.nextLong();
        Arrays.sort(numbers);
        return numbers[n / 2];
    }

    static long text(int n) {
        StringBuilder builder = new StringBuilder();
        for (int i = 0; i < n; i++)
            builder.append(i).append(',');
        return builder.toString().hashCode();
    }

    /* Each time until the other thread waits for the lock, and a while longer. */
    static void hold(Thread other) throws InterruptedException {
        for (int i = 0; i < WAITS; i++) {
            synchronized (lock) {
                isHeld.release();
                while (other.getState() != Thread.State.BLOCKED)
                    Thread.sleep(1);
                Thread.sleep(30);
            }
            isTaken.acquire();
        }
    }

    static void take() throws InterruptedException {
        for (int i = 0; i < WAITS; i++) {
            isHeld.acquire();
            synchronized (lock) {
                sink++;
            }
            isTaken.release();
        }
    }

    static long work(int kind) {
        switch (kind) {
        case 0:
            return hash(1000000);
        case 1:
            return sort(100000);
        default:
            return text(50000);
        }
    }

    static void run(long cpuNs, int kind) {
        while (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() < cpuNs)
            sink += work(kind);
    }

    static void runLocker(Thread other) {
        try {
            if (other == null)
                take();
            else
                hold(other);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        long cpuNs = (long)(Double.parseDouble(arguments[0]) * 1e9);
        Thread taker = new Thread(() -> runLocker(null), "taker");
        Thread[] threads = {new Thread(() -> run(cpuNs, 0), "hasher"), new Thread(() -> run(cpuNs, 1), "sorter"),
                            new Thread(() -> run(cpuNs, 2), "texter"), new Thread(() -> runLocker(taker), "holder"),
                            taker};
        for (Thread thread : threads)
            thread.start();
        for (Thread thread : threads)
            thread.join();
    }
}
