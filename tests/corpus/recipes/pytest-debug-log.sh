# tool: pytest, live logs
# how: 300 tests that log at DEBUG to the terminal, a fixture of one fails in the middle
# decisive: sqlite3.OperationalError: no such column: orders.shipped_on
prepare() {
cat > test_store.py <<'X'
import logging
import sqlite3

import pytest

log = logging.getLogger("store")


@pytest.fixture
def store(request):
    db = sqlite3.connect(":memory:")
    db.execute("create table orders (id integer, total integer)")
    for n in range(250):
        log.debug("insert into orders values (%d, %d) took %d us, 0 errors", n, n * 7, n % 13)
        db.execute("insert into orders values (?, ?)", (n, n * 7))
    if "150" in request.node.name:
        db.execute("select id from orders where orders.shipped_on is null")
    return db


@pytest.mark.parametrize("n", range(300))
def test_total(store, n):
    log.info("sum with retry %d: previous attempt failed, trying again", n)
    assert store.execute("select sum(total) from orders where id >= ?", (n,)).fetchone()
X
}
run() { python -m pytest -v --log-cli-level=DEBUG --show-capture=no -p no:cacheprovider; }
