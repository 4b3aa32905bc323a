# tool: pytest -n 4 -v
# how: 3,000 tests on four workers, one worker is killed by a test, two tests fail because of it
# decisive: worker 'gw
# decisive: test_load.py::test_native_parser
prepare() {
cat > test_load.py <<'X'
import ctypes

import pytest


@pytest.mark.parametrize("n", range(3000))
def test_row(n):
    assert n >= 0


def test_native_parser():
    ctypes.string_at(0)
X
}
run() { python -m pytest -n 2 -v -p no:cacheprovider 2>&1; }
