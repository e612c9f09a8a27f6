// SPDX-License-Identifier: Apache-2.0
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** WordServer PORT - answers /words?N with N words and the sum of their numbers. */
public class WordServer {
    static class Box {
        int value;
    }

    /** A null check that fails, which HotSpot makes of a SIGSEGV. */
    static int risk(Box box) {
        try {
            return box.value;
        } catch (NullPointerException e) {
            return 0;
        }
    }

    static String words(int n) {
        StringBuilder text = new StringBuilder();
        int sum = 0;
        for (int i = 0; i < n; i++) {
            text.append("drum ").append(i).append('\n');
            sum += i + risk(i % 2 == 0 ? null : new Box());
        }
        return text.append("sum ").append(sum).append('\n').toString();
    }

    public static void main(String[] args) throws IOException {
        int port = Integer.parseInt(args[0]);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 64);
        server.createContext("/words", exchange -> {
            byte[] body = words(Integer.parseInt(exchange.getRequestURI().getQuery())).getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
    }
}
