# tool: python, multiprocessing
# how: a pool in which one piece of data is not what the worker expects
# decisive: ValueError: invalid literal for int() with base 10: 'n/a'
# decisive: count.py", line 5, in parsed
prepare() {
cat > count.py <<'X'
from multiprocessing import Pool


def parsed(row):
    return int(row.split(",")[1])


if __name__ == "__main__":
    rows = [f"row{n},{n}" for n in range(300)]
    rows[173] = "row173,n/a"
    with Pool(4) as pool:
        for n in range(0, 300, 100):
            print("sum of", n, sum(pool.map(parsed, rows[n : n + 100])))
X
}
run() { python count.py; }
