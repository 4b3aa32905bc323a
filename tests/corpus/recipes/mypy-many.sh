# tool: mypy
# how: 120 modules with errors of missing annotations, and one module that cannot be imported
# decisive: Cannot find implementation or library stub for module named "shop_proto"
prepare() {
mkdir shop; touch shop/__init__.py; printf 'from shop_proto import Order\n\n\nclass Base(Order):\n    def total(self) -> int:\n        return self.net\n' > shop/base.py
for n in $(seq 120); do printf 'from shop.base import Base\n\n\nclass C%s(Base):\n    def f(self, a, b):\n        return a\n\n    def g(self):\n        return self.f(1, 2)\n\n    def h(self) -> str:\n        return self.total()\n' $n > shop/m$n.py; done
}
run() { mypy --strict --no-incremental shop; }
