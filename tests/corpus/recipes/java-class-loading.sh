# tool: java -Xlog:class+load
# how: 2,000 loaded classes are listed, one that is named in a resource is missing
# decisive: java.lang.ClassNotFoundException: com.example.tax.SwissTax
prepare() {
cat > Plugins.java <<'X'
import java.util.*; import java.util.stream.*;
public class Plugins {
  public static void main(String[] a) throws Exception {
    var names = new ArrayList<>(List.of("java.util.concurrent.ForkJoinPool", "javax.net.ssl.SSLContext", "java.sql.DriverManager", "java.net.http.HttpClient", "com.example.tax.SwissTax"));
    for (String n : names) try { System.out.println("loaded " + Class.forName(n).getName()); } catch (ClassNotFoundException e) { throw new RuntimeException("plugins are incomplete", e); }
    System.out.println(IntStream.range(0, 9).boxed().collect(Collectors.toList()));
  }
}
X
javac Plugins.java
}
run() { java -Xlog:class+load=info -cp . Plugins; }
