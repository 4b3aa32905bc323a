# tool: pip install
# how: a source package whose setup.py asks for a tool that is not there
# decisive: RuntimeError: mysql_config not found: install the client's headers or set MYSQL_CONFIG
prepare() {
mkdir -p dbdriver/src; cat > dbdriver/setup.py <<'X'
import os
import shutil

from setuptools import Extension, setup


def flags():
    tool = os.environ.get("MYSQL_CONFIG") or shutil.which("mysql_config")
    if tool is None:
        raise RuntimeError("mysql_config not found: install the client's headers or set MYSQL_CONFIG")
    return [tool]


setup(name="dbdriver", version="1.4.0", ext_modules=[Extension("dbdriver", ["src/driver.c"], extra_compile_args=flags())])
X
echo 'int main(void){return 0;}' > dbdriver/src/driver.c
}
run() { pip install --target here ./dbdriver; }
