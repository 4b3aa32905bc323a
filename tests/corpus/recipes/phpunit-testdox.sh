# tool: phpunit --testdox
# how: 1,500 tests, one fails, one is risky
# decisive: Failed asserting that 1999 is identical to 2000.
# decisive: BirthdayTest.php:12
prepare() {
cat > BirthdayTest.php <<'X'
<?php
use PHPUnit\Framework\TestCase;
final class BirthdayTest extends TestCase {
    public static function years(): array { return array_map(fn($n) => [$n], range(500, 1999)); }
    /** @dataProvider years */
    public function testYearOf(int $year): void { $this->assertSame($year, self::year("$year-06-01")); }
    private static function year(string $day): int { return (int) date('Y', strtotime("$day UTC")); }
    public function testErrorsAreNotCounted(): void { $this->assertSame(0, 0); }
    public function testNewYear(): void {
        date_default_timezone_set('America/New_York');
        $found = self::year('2000-01-01');
        $this->assertSame(2000, $found);
    }
}
X
}
run() { phpunit --testdox --no-configuration BirthdayTest.php; }
