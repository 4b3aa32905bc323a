# tool: pytest -v
# how: 4,000 verbose tests in 40 files, one fails, with logs that were captured
# decisive: E       assert 1201 == (100 * 12)
# decisive: tests/test_part23.py:15: AssertionError
prepare() {
mkdir tests; cat > discount.py <<'X'
import logging

log = logging.getLogger("shop.discount")


def price(cents: int, count: int) -> int:
    for number in range(count % 40):
        log.warning("error budget of rule %d is %d, no error", number, cents)
    return cents * count + (1 if (cents, count) == (100, 12) else 0)
X
python - <<'X'
for part in range(40):
    open(f"tests/test_part{part}.py", "w").write(f'''import pytest

from discount import price


@pytest.mark.parametrize("count", range(99))
def test_price_{part}(count):
    assert price({part} + 1, count) == ({part} + 1) * count


def test_dozen_{part}():
    cents = 100 if {part} == 23 else 99
    count = 12
    total = price(cents, count)
    assert total == cents * count
''')
X
}
run() { PYTHONPATH=. python -m pytest -v -p no:cacheprovider; }
