# tool: a CI script: pip, ruff, mypy, pytest, node
# how: lint warns, one test of 800 fails, and later steps go on with messages of their own
# decisive: FAILED test_slug.py::test_umlaut - AssertionError: assert 'gr-e' == 'groesse'
prepare() {
printf 'import re\n\n\ndef slug(text):\n    return re.sub(r"[^a-z]+", "-", text.lower()).strip("-")\n' > slug.py
printf 'import pytest\nimport os\n\nfrom slug import slug\n\n\n@pytest.mark.parametrize("n", range(800))\ndef test_ascii(n):\n    assert slug("a b") == "a-b"\n\n\ndef test_umlaut():\n    assert slug("Größe") == "groesse"\n' > test_slug.py
printf 'console.error("error budget: 0 errors");\nfor (let n = 0; n < 400; n++) console.log("asset", n, "copied, failed: 0");\n' > assets.js
cat > ci.sh <<'X'
#!/bin/bash
status=0
step() { echo "::group::$1"; shift; "$@" || { echo "step failed with $?"; status=1; }; echo "::endgroup::"; }
step install pip install --target libs rich==13.7.0
step lint ruff check --exit-zero --exclude libs .
step types mypy --no-incremental slug.py
step tests python -m pytest -v -p no:cacheprovider test_slug.py
step assets node assets.js
step bundle tar -cvf bundle.tar libs
echo "finished with status $status"
exit $status
X
}
run() { bash ci.sh; }
