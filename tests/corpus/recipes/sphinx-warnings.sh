# tool: sphinx-build
# how: 250 pages with warnings of short titles, one extension fails on a page
# decisive: ValueError: version '2.x' of directive 'since' is not a number
prepare() {
mkdir src; cat > src/conf.py <<'X'
from docutils.parsers.rst import Directive


class Since(Directive):
    required_arguments = 1

    def run(self):
        try:
            float(self.arguments[0])
        except ValueError:
            raise ValueError(f"version {self.arguments[0]!r} of directive 'since' is not a number")
        return []


def setup(app):
    app.add_directive("since", Since)
X
python3 - <<'X'
pages = [f"page{n}" for n in range(250)]
for n, page in enumerate(pages):
    open(f"src/{page}.rst", "w").write(f"Errors of page {n}\n=====\n\n.. since:: {'2.x' if n == 88 else '2.1'}\n\nSee :ref:`missing-{n}` and `x <nowhere>`_\n\n- a\n - b\n")
open("src/index.rst", "w").write("Docs\n====\n\n.. toctree::\n\n" + "".join(f"   {page}\n" for page in pages))
X
}
run() { sphinx-build -v -b html src out; }
