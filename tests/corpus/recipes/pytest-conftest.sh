# tool: pytest
# how: conftest.py imports a module that is not installed, so nothing is collected
# decisive: ModuleNotFoundError: No module named 'factory_kit'
prepare() {
mkdir tests; printf 'from tests.helpers import make\n' > tests/conftest.py; touch tests/__init__.py
printf 'import factory_kit\n\n\ndef make(name):\n    return factory_kit.build(name)\n' > tests/helpers.py
printf 'def test_one(make):\n    assert make\n' > tests/test_one.py
}
run() { python -m pytest; }
