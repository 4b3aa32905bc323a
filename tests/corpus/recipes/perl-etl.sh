# tool: perl
# how: 40,000 records with warnings of undefined values, then a division by zero which a record in the middle prepared
# decisive: record 21312: no rate for currency 'XTS', rate set to 0
prepare() {
cat > etl.pl <<'X'
use strict; use warnings;
my %rate = (EUR => 1, USD => 1.1, GBP => 0.9);
my (%sum, @later);
for my $n (0 .. 39_999) {
    my $currency = $n == 21312 ? 'XTS' : (keys %rate)[$n % 3];
    my %row = (id => $n, note => $n % 2 ? undef : 'x');
    my $line = "record $n: " . $row{note};
    if (!exists $rate{$currency}) { warn "record $n: no rate for currency '$currency', rate set to 0\n"; push @later, $n; $rate{$currency} = 0; }
    $sum{$currency} += $n;
    print "$line loaded, 0 failed, $currency\n";
}
for my $currency (sort keys %sum) { printf "%s: %.2f\n", $currency, $sum{$currency} / $rate{$currency}; }
X
}
run() { perl etl.pl 2>&1; }
