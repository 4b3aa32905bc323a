# tool: java service, java.util.logging
# how: 90,000 messages; a wrong line of the configuration is said at the start, the retries it causes follow
# decisive: ignoring unknown key 'queue.adress' in shop.properties, using default 'localhost:1'
prepare() {
cat > Service.java <<'X'
import java.io.*; import java.net.*; import java.nio.file.*; import java.util.*; import java.util.logging.*;

public class Service {
  static final Logger log = Logger.getLogger("com.example.shop.Service");
  public static void main(String[] args) throws Exception {
    Properties p = new Properties(); p.load(Files.newBufferedReader(Path.of("shop.properties")));
    log.info("reading shop.properties");
    for (int n = 0; n < 200; n++) log.info("registered handler " + n);
    String address = "localhost:1";
    for (String key : new TreeSet<>(p.stringPropertyNames())) {
      if (key.equals("queue.address")) address = p.getProperty(key);
      else if (key.startsWith("queue.ad")) log.warning("ignoring unknown key '" + key + "' in shop.properties, using default '" + address + "'");
      else log.info("setting " + key + " is " + p.getProperty(key));
    }
    String[] parts = address.split(":");
    for (int n = 0; n < 3000; n++) {
      for (int i = 0; i < 24; i++) log.fine("x");
      for (int i = 0; i < 12; i++) log.info("worker " + i + " handled order " + (n * 12 + i) + " in " + (i * 7 % 31) + " ms, 0 errors");
      try (Socket s = new Socket()) { s.connect(new InetSocketAddress(parts[0], Integer.parseInt(parts[1])), 500); }
      catch (IOException e) { log.log(Level.WARNING, "queue not reachable, attempt " + n + " of 3000, will retry", e); }
    }
    log.severe("giving up: 3000 attempts failed");
    System.exit(3);
  }
}
X
for n in $(seq 40); do echo "handler.$n.size=$n"; done > shop.properties; echo "queue.adress=queue.internal:5672" >> shop.properties
javac Service.java
}
run() { java -Djava.util.logging.SimpleFormatter.format='%1$tF %1$tT,%1$tL %4$-7s [%2$s] %5$s%6$s%n' -cp . Service; }
