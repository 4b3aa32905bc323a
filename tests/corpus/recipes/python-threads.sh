# tool: python, threads
# how: eight workers that log 80,000 lines; one thread dies silently in the first second, the end waits for it
# decisive: Exception in thread worker-5:
# decisive: UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe9
prepare() {
cat > pool.py <<'X'
import queue
import sys
import threading

jobs = queue.Queue()
lock = threading.Lock()
done = 0


def parsed(n):
    return (b"caf\xe9" if n == 4100 else b"tea").decode()


def work():
    global done
    while True:
        n = jobs.get()
        if n is None:
            return
        if threading.current_thread().name == "worker-5" and n > 4000:
            n = 4100
        parsed(n)
        with lock:
            done += 1
            print(f"{threading.current_thread().name} INFO job {n} done, errors=0, retries=0, checksum={n * 2654435761 % 2**32:08x}", file=sys.stderr)


threads = [threading.Thread(target=work, name=f"worker-{n}") for n in range(8)]
for n in range(80_000):
    jobs.put(n)
for _ in threads:
    jobs.put(None)
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if done != 80_000:
    print(f"error: {80_000 - done} of 80000 jobs have no result", file=sys.stderr)
    sys.exit(1)
X
}
run() { python pool.py; }
