# tool: python -m unittest
# how: a suite that prints 3 MB, and whose only failure is that a temporary folder is not removed
# decisive: AssertionError: Lists differ: ['part-0007.tmp'] != []
prepare() {
cat > test_import.py <<'X'
import os
import tempfile
import unittest


def load(folder, n):
    path = os.path.join(folder, f"part-{n:04}.tmp")
    open(path, "w").close()
    for row in range(600):
        print(f"[{n:04}] row {row}: parsed 14 fields, skipped=0 failed=0 error=None checksum={hash((n, row)) & 0xFFFFFFFF:08x}")
    if n != 7:
        os.remove(path)


class TestImport(unittest.TestCase):
    def test_nothing_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            for n in range(60):
                load(folder, n)
            self.assertEqual(os.listdir(folder), [])


for number in range(40):
    setattr(TestImport, f"test_other_{number}", lambda self: self.assertTrue(True))
X
}
run() { python -m unittest test_import; }
