# tool: python, multiprocessing and logging
# how: four workers log 6 MB; one meets the memory limit in the middle, the parent says only that results are missing
# decisive: MemoryError
# decisive: resize.py", line 18, in resized
prepare() {
cat > resize.py <<'X'
import logging
import multiprocessing
import resource
import sys

FORMAT = "%(asctime)s [%(processName)s/%(levelname)s] %(message)s"


def setup():
    logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, format=FORMAT)
    resource.setrlimit(resource.RLIMIT_AS, (600_000_000, 600_000_000))


def resized(n):
    log = logging.getLogger()
    for step in range(40):
        log.debug("image %d: tile %d resampled, peak error 0.0%d, failed tiles 0", n, step, step % 10)
    pixels = bytearray(2_000_000_000 if n == 900 else 2000)
    return len(pixels)


def quietly(n):
    try:
        return resized(n)
    except Exception:
        logging.getLogger().warning("image %d left out", n, exc_info=True)
        return None


if __name__ == "__main__":
    setup()
    with multiprocessing.Pool(2, setup) as pool:
        sizes = pool.map(quietly, range(2000), chunksize=20)
    logging.info("%d sizes", len(sizes))
    sys.exit(f"album incomplete: {sum(size is None for size in sizes)} of {len(sizes)} images missing")
X
}
run() { python resize.py; }
