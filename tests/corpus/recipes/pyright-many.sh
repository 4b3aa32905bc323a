# tool: pyright
# how: 90 modules with warnings, one calls a method which does not exist
# decisive: Cannot access attribute "refund" for class "Order"
# decisive: part44.py:6:
prepare() {
python3 - <<'X'
open("order.py", "w").write("class Order:\n    def pay(self, cents: int) -> int:\n        return cents\n")
for n in range(90):
    verb = "refund" if n == 44 else "pay"
    open(f"part{n}.py", "w").write(f"from order import Order\nimport error_{n} # type: ignore\n\n\ndef go(order: Order, extra):\n    return order.{verb}(3) + unused\n\n\nunused = 3\nprint(error_{n}.failed)\n")
open("pyrightconfig.json", "w").write('{"typeCheckingMode": "strict", "reportUnknownMemberType": "warning", "reportMissingParameterType": "warning", "reportUnknownParameterType": "warning", "reportUnusedExpression": "warning"}')
X
}
run() { pyright; }
