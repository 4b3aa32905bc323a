"""Executed by the job's interpreter, with the code as its arguments. Written so that any Python can at least read it."""

import sys

if sys.version_info < (3, 8):
    sys.exit("bide: Python code needs Python 3.8 or newer; %s is %s" % (sys.executable, sys.version.split()[0]))
if not getattr(sys.flags, "safe_path", False):
    sys.path[0] = ""

package = type(sys)("_bide")
package.__path__ = [__file__.rpartition("/")[0]]
sys.modules["_bide"] = package

from _bide.running import run  # noqa: E402  # pyright: ignore[reportMissingImports, reportUnknownVariableType]

run()
