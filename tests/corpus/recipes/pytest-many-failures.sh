# tool: pytest -v --tb=short
# how: 12,000 tests; 2,600 of them need a database which one fixture could not open
# decisive: RuntimeError: schema 'shop' has no table 'tenants': run migrate first
prepare() {
cat > conftest.py <<'X'
import pytest

opened = []


@pytest.fixture(scope="session")
def schema():
    raise RuntimeError("schema 'shop' has no table 'tenants': run migrate first")


@pytest.fixture
def store(request):
    if not opened:
        opened.append(1)
        request.getfixturevalue("schema")
    pytest.fail("store is closed")
X
cat > test_store.py <<'X'
import pytest


@pytest.mark.parametrize("n", range(9400))
def test_pure_error_free(n):
    assert n >= 0


@pytest.mark.parametrize("n", range(2600))
def test_with_store(store, n):
    assert store
X
}
run() { python -m pytest -v --tb=short -p no:cacheprovider; }
