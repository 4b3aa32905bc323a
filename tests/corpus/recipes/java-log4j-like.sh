# tool: java service, java.util.logging
# how: 60,000 lines of a pool of threads; one exception with two causes in the middle, then a queue that only grows
# decisive: Caused by: java.util.zip.DataFormatException: unknown archive version 9 in part 3120
# decisive: at Archive.open(Archive.java:
prepare() {
cat > Archive.java <<'X'
import java.util.logging.*; import java.util.zip.*;

public class Archive {
  static final Logger log = Logger.getLogger("com.example.archive.Archive");
  static boolean broken;
  static void open(int n) throws DataFormatException { if (n == 3120) throw new DataFormatException("unknown archive version 9 in part " + n); }
  static void read(int n) { try { open(n); } catch (DataFormatException e) { throw new IllegalArgumentException("part " + n + " cannot be read", e); } }
  static void handle(int n) {
    for (int i = 0; i < 8; i++) log.info("part " + n + " entry " + i + " checked, crc error: false, failed: 0");
    try { read(n); } catch (IllegalArgumentException e) { broken = true; log.log(Level.WARNING, "reader stopped", new RuntimeException("reader", e)); }
    if (broken) log.warning("queue has " + (n - 3119) + " parts, reader does not take them (error budget left: 99%)");
  }
  public static void main(String[] a) { for (int n = 0; n < 7000; n++) handle(n); log.severe("queue not empty at shutdown"); System.exit(4); }
}
X
javac Archive.java
}
run() { java -Djava.util.logging.SimpleFormatter.format='%1$tF %1$tT,%1$tL [main] %4$-7s %3$s - %5$s%6$s%n' -cp . Archive 2>&1; }
