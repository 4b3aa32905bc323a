"""For each format what its tool writes when it fails, and the lines that an engineer would look for."""

SAMPLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "pytest": (
        "=================================== FAILURES ===================================\n"
        "____________________________ test_total_with_discount ____________________________\n\n"
        "    def test_total_with_discount():\n>       assert total(items) == 8\nE       assert 7 == 8\n"
        "E        +  where 7 = total([{'price': 7}])\n\ntest_shop.py:9: AssertionError\n"
        "FAILED test_shop.py::test_total_with_discount - assert 7 == 8\n",
        ("E       assert 7 == 8", "FAILED test_shop.py::test_total_with_discount"),
    ),
    "unittest": (
        "======================================================================\n"
        "FAIL: test_rate (shop.tests.Rates.test_rate)\n"
        "----------------------------------------------------------------------\n"
        'Traceback (most recent call last):\n  File "/srv/shop/tests.py", line 8, in test_rate\n'
        "    self.assertEqual(rate, 0.2)\nAssertionError: 0.19 != 0.2\n\nFAILED (failures=1)\n",
        ("FAIL: test_rate", "AssertionError: 0.19 != 0.2"),
    ),
    "python": (
        'Traceback (most recent call last):\n  File "/srv/app/load.py", line 7, in <module>\n    load(path)\n'
        "RuntimeError: config app.json is unreadable\n",
        ("load.py", "RuntimeError: config app.json is unreadable"),
    ),
    "jest": (
        "FAIL src/round.test.js\n  \u25cf money \u203a rounds up\n\n    expect(received).toBe(expected)\n\n"
        "    Expected: 3\n    Received: 2\n\n      at Object.<anonymous> (src/round.test.js:4:30)\n\n"
        "Tests:       1 failed, 50 passed, 51 total\n",
        ("money \u203a rounds up", "Expected: 3", "Received: 2", "src/round.test.js:4:30"),
    ),
    "mocha": (
        "  60 passing (12ms)\n  1 failing\n\n  1) cart\n       adds tax:\n\n      + expected - actual\n\n"
        "      -119\n      +120\n\n      at Context.<anonymous> (test/cart.js:3:44)\n",
        ("1 failing", "adds tax", "-119"),
    ),
    "node": (
        "/srv/b.js:1\nfunction price(o) { return o.item.cost }\n                                  ^\n\n"
        "TypeError: Cannot read properties of undefined (reading 'cost')\n    at price (/srv/b.js:1:35)\n"
        "    at Module._compile (node:internal/modules/cjs/loader:1364:14)\n\nNode.js v20.20.2\n",
        ("reading 'cost'", "/srv/b.js:1"),
    ),
    "go": (
        "=== RUN   TestAdd\n    add_test.go:5: Add(2,3) = -1; want 5\n--- FAIL: TestAdd (0.00s)\nFAIL\nFAIL\tex/add\t0.002s\n",
        ("add_test.go:5: Add(2,3) = -1; want 5", "--- FAIL: TestAdd"),
    ),
    "cargo": (
        "error[E0308]: mismatched types\n --> src/main.rs:4:21\n  |\n4 |     let s: String = 5;\n"
        "  |            ------   ^ expected `String`, found integer\n\nerror: could not compile `demo` due to 1 previous error\n",
        ("error[E0308]: mismatched types", "src/main.rs:4:21", "let s: String = 5;"),
    ),
    "maven": (
        "[INFO] BUILD FAILURE\n[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.8.1:compile: "
        "Compilation failure\n[ERROR] /srv/src/main/java/A.java:[1,28] incompatible types: java.lang.String cannot be converted to int\n"
        "[ERROR] -> [Help 1]\n[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.\n",
        ("A.java:[1,28] incompatible types",),
    ),
    "java": (
        'Exception in thread "main" java.lang.IllegalStateException: cannot load order\n\tat shop.Main.main(Main.java:9)\n'
        'Caused by: java.lang.NumberFormatException: For input string: "12x"\n'
        "\tat java.base/java.lang.Integer.parseInt(Integer.java:652)\n\tat shop.Main.parse(Main.java:3)\n\t... 1 more\n",
        ("cannot load order", 'For input string: "12x"'),
    ),
    "gcc": (
        "cc -Wall -c -o main.o main.c\nmain.c: In function 'main':\nmain.c:2:42: error: 'cuont' undeclared (first use in this function)\n"
        '    2 | int main(void) { printf("%d", cuont); }\n      |                               ^~~~~\nmake: *** [Makefile:4: main.o] Error 1\n',
        ("main.c:2:42: error: 'cuont' undeclared", "^~~~~"),
    ),
    "tsc": (
        "src/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\nFound 1 error in src/a.ts:1\n",
        ("error TS2322",),
    ),
    "eslint": (
        "/srv/e.js\n  1:7  warning  'unused' is assigned a value but never used  no-unused-vars\n"
        "  2:1  error    'foo' is not defined                          no-undef\n\n\u2716 2 problems (1 error, 1 warning)\n",
        ("/srv/e.js", "'foo' is not defined"),
    ),
    "pychecks": (
        'src/b.py:2: error: Incompatible return value type (got "int", expected "str")  [return-value]\n'
        "Found 1 error in 1 file (checked 9 source files)\n",
        ("src/b.py:2: error: Incompatible return value",),
    ),
    "npm": (
        "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error Found: react@19.0.0\n"
        'npm error Could not resolve dependency:\nnpm error peer react@"^17" from widget@2.1.0\n'
        "npm error A complete log of this run can be found in: debug.log\n",
        ("npm error code ERESOLVE", "from widget@2.1.0"),
    ),
    "pip": (
        "ERROR: Could not find a version that satisfies the requirement no-such-thing==9.9 (from versions: none)\n"
        "ERROR: No matching distribution found for no-such-thing==9.9\n",
        ("No matching distribution found for no-such-thing==9.9",),
    ),
    "make": (
        'CMake Error at CMakeLists.txt:3 (find_package):\n  By not providing "FindLedger.cmake" in CMAKE_MODULE_PATH this project\n'
        '  has asked CMake to find a package configuration file provided by "Ledger"\n\n-- Configuring incomplete, errors occurred!\n',
        ("CMake Error at CMakeLists.txt:3", "FindLedger.cmake"),
    ),
    "docker": (
        " > [build 4/6] RUN ./configure:\n0.412 checking for ledger... no\n------\nDockerfile:9\n--------------------\n"
        '   9 | >>> RUN ./configure\nERROR: failed to solve: process "/bin/sh -c ./configure" did not complete successfully: exit code: 1\n',
        ("RUN ./configure", "failed to solve"),
    ),
    "terraform": (
        "\u2577\n\u2502 Error: creating S3 Bucket (acme-logs): BucketAlreadyExists\n\u2502 \n\u2502   with aws_s3_bucket.logs,\n"
        '\u2502   on main.tf line 12, in resource "aws_s3_bucket" "logs":\n\u2575\n',
        ("BucketAlreadyExists", "main.tf line 12"),
    ),
    "jsonlines": (
        '{"level":"fatal","ts":1763553600,"msg":"ledger checksum differs","want":"ab12","got":"cd34"}\n',
        ("ledger checksum differs",),
    ),
    "logs": (
        "2026-11-19 12:00:00,123 FATAL [main] shop.Ledger - no quorum after election\n",
        ("no quorum after election",),
    ),
    "ruby": (
        "pay.rb:2:in `fetch': key not found: :amount (KeyError)\n\tfrom pay.rb:2:in `pay'\n\tfrom pay.rb:5:in `<main>'\n",
        ("key not found: :amount",),
    ),
    "php": (
        "PHP Fatal error:  Uncaught TypeError: total(): Argument #1 must be of type array, null given in /srv/cart.php:9\n"
        "Stack trace:\n#0 /srv/index.php(4): total(NULL)\n#1 {main}\n",
        ("/srv/cart.php:9",),
    ),
    "perl": ("cannot open ledger: none there at books.pl line 9.\n", ("cannot open ledger",)),
    "dotnet": (
        "/src/Cart.cs(21,13): error CS0103: The name 'totl' does not exist in the current context [/src/Shop.csproj]\n"
        "Build FAILED.\n",
        ("error CS0103",),
    ),
    "elixir": (
        "** (MatchError) no match of right hand side value: {:error, :enoent}\n    (ledger 0.1.0) lib/ledger.ex:12: Ledger.load/1\n",
        ("{:error, :enoent}", "lib/ledger.ex:12"),
    ),
    "haskell": (
        "src/Main.hs:4:9: error:\n    Variable not in scope: totl :: [Int] -> Int\n",
        ("src/Main.hs:4:9: error:", "Variable not in scope: totl"),
    ),
    "shell": ("deploy.sh: line 4: DEPLOY_KEY: unbound variable\n", ("DEPLOY_KEY: unbound variable",)),
}
