# tool: java, thread dump
# how: a service with 120 threads that does not answer; its dump is asked for and shows a deadlock
# decisive: Found one Java-level deadlock:
# decisive: at Bank.transfer(Bank.java:
prepare() {
cat > Bank.java <<'X'
import java.util.concurrent.*;
public class Bank {
  static void transfer(Object from, Object to) throws Exception { synchronized (from) { Thread.sleep(300); synchronized (to) { System.out.println("done"); } } }
  public static void main(String[] args) throws Exception {
    Object a = new Object(), b = new Object();
    var pool = Executors.newFixedThreadPool(120);
    for (int n = 0; n < 118; n++) { int m = n; pool.submit(() -> { System.out.println("worker " + m + " waits, no error"); Thread.sleep(99999); return 0; }); }
    pool.submit(() -> { transfer(a, b); return 0; });
    pool.submit(() -> { transfer(b, a); return 0; });
  }
}
X
javac Bank.java
}
run() { timeout -k 1 -s QUIT 3 java -cp . Bank; }
