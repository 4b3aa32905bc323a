# tool: java
# how: a chain of three exceptions at the start of a program
# decisive: Caused by: java.lang.NumberFormatException: For input string: "80 80"
# decisive: at Shop.port(Shop.java:
prepare() {
cat > Shop.java <<'X'
import java.util.*;

public class Shop {
    static int port(Map<String, String> settings) { return Integer.parseInt(settings.get("port")); }
    static void open(Map<String, String> settings) {
        try { System.out.println("listens on " + port(settings)); }
        catch (NumberFormatException e) { throw new IllegalStateException("cannot open the listener", e); }
    }
    static void start(Map<String, String> settings) {
        try { open(settings); } catch (IllegalStateException e) { throw new RuntimeException("service 'http' failed to start", e); }
    }
    public static void main(String[] args) {
        for (String part : List.of("store", "mail", "search", "http")) {
            System.out.println("starting " + part);
            if (part.equals("http")) start(Map.of("port", "80 80"));
        }
    }
}
X
javac Shop.java
}
run() { java -cp . Shop; }
