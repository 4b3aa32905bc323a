# tool: perl, prove
# how: three test files, the second of which has a wrong value
# decisive: Failed test 'the second page starts at 10'
# decisive: got: '11'
prepare() {
mkdir t; for f in a c; do printf 'use Test::More tests => 20; ok($_ < 30, "number $_") for 1..20;\n' > t/$f.t; done
cat > t/b.t <<'X'
use strict; use warnings; use Test::More tests => 4;
sub start { my ($page) = @_; return ($page - 1) * 10 + ($page > 1 ? 1 : 0); }
ok(defined &start, 'there is start');
is(start(1), 0, 'the first page starts at 0');
is(start(2), 10, 'the second page starts at 10');
ok(start(3) > start(2), 'pages go up');
X
}
run() { prove -v t; }
