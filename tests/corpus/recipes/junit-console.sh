# tool: java, JUnit console launcher
# how: 2,400 tests with a tree of details, one fails
# decisive: expected: <1.10> but was: <1.1>
# decisive: MoneyTest.prints
prepare() {
cat > MoneyTest.java <<'X'
import static org.junit.jupiter.api.Assertions.*;
import org.junit.jupiter.api.*;
import java.util.stream.*;

class MoneyTest {
  @TestFactory Stream<DynamicTest> adds() { return IntStream.range(0, 2400).mapToObj(n -> DynamicTest.dynamicTest("adds " + n + " cents, error 0", () -> assertEquals(n + 1, n + 1))); }
  @Test void prints() { assertEquals("1.10", String.valueOf(1.10)); }
  @Test void warns() { System.err.println("WARNING: error stream is in use"); }
}
X
javac -cp "/usr/share/java/junit-jupiter-api.jar:/usr/share/java/apiguardian-api.jar:/usr/share/java/opentest4j.jar:/usr/share/java/junit-platform-commons.jar" -d out MoneyTest.java
}
run() { java -cp "out:$(ls /usr/share/java/junit-*.jar /usr/share/java/opentest4j.jar /usr/share/java/apiguardian-api.jar /usr/share/java/picocli.jar /usr/share/java/univocity-parsers.jar 2>/dev/null | tr '\n' ':')" org.junit.platform.console.ConsoleLauncher --details=verbose --disable-banner -c MoneyTest; }
