// SPDX-License-Identifier: Apache-2.0
// Two methods that the JVM compiles, in turns, for SECONDS of CPU time; says how much each of them used.
// usage: java JitShares SECONDS
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

public class JitShares {
    static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();

    static long heavy(int n) {
        long s = 0;
        for (int i = 0; i < n; i++)
            s = s * 31 + i;
        return s;
    }

    static long light(int n) {
        long s = 1;
        for (int i = 0; i < n; i++)
            s = s * 33 ^ i;
        return s;
    }

    static long cpu() {
        return threads.getCurrentThreadCpuTime();
    }

    public static void main(String[] args) {
        long[] used = new long[2];
        long sum = 0;
        long end = cpu() + (long) (Double.parseDouble(args[0]) * 1e9);
        while (cpu() < end) {
            for (int k = 0; k < 2; k++) {
                long from = cpu();
                long now = from;
                while (now - from < (k == 0 ? 30000000L : 10000000L)) {
                    sum += k == 0 ? heavy(2000000) : light(2000000);
                    now = cpu();
                }
                used[k] += now - from;
            }
        }
        System.out.println("{\"heavy\": " + used[0] + ", \"light\": " + used[1] + "} " + (sum != 0));
    }
}
