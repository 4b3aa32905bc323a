# tool: php
# how: an invoice run that calls a method on null after some notices
# decisive: Uncaught Error: Call to a member function rate() on null in /srv/app/shop/invoice.php:5
prepare() {
cat > invoice.php <<'X'
<?php
class Tax { function __construct(private float $rate) {} function rate(): float { return $this->rate; } }
function tax_of(string $country): ?Tax { return ['de' => new Tax(0.19), 'fr' => new Tax(0.2)][$country] ?? null; }
function total(array $row): float {
    return $row['net'] * (1 + tax_of($row['country'])->rate());
}
$rows = [];
for ($n = 0; $n < 40; $n++) $rows[] = ['net' => $n * 10, 'country' => $n % 3 ? 'de' : 'fr'];
$rows[31]['country'] = 'ch';
foreach ($rows as $n => $row) { printf("%03d %s %.2f\n", $n, $row['note'], total($row)); }
X
}
run() { php -d display_errors=stderr -d error_reporting=E_ALL invoice.php; }
