# tool: python -m unittest -v
# how: 6,000 tests, one error in the middle, printed text between
# decisive: KeyError: 'vat_id'
# decisive: in test_export_3117
prepare() {
cat > test_export.py <<'X'
import unittest


def exported(order):
    return f"{order['id']};{order['vat_id']}"


class TestExport(unittest.TestCase):
    pass


def made(n):
    def test(self):
        print(f"order {n} exported, errors: 0")
        order = {"id": n, "vat_id": n}
        if n == 3117:
            del order["vat_id"]
        self.assertTrue(exported(order))
    test.__name__ = f"test_export_{n:04}"
    code = compile(f"def {test.__name__}(self):\n    return inner(self)\n", "test_export.py", "exec")
    space = {"inner": test}
    exec(code, space)
    return space[test.__name__]


for number in range(6000):
    setattr(TestExport, f"test_export_{number:04}", made(number))
X
}
run() { python -m unittest -v; }
