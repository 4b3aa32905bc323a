# tool: python service, logging
# how: an import of 30,000 rows with four threads; the disk quota is reached in the middle, every later batch is retried
# decisive: OSError: [Errno 27] File too large
# decisive: importer.py", line 13, in append
prepare() {
cat > importer.py <<'X'
import logging
import resource
import signal
import sys

logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(asctime)s %(levelname)-8s %(threadName)s %(name)s: %(message)s")
log = logging.getLogger("importer")
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def append(file, row):
    file.write(row)
    file.flush()


def main():
    closed = False
    failed = 0
    with open("rows.dat", "wb", buffering=0) as file:
        for n in range(30000):
            log.debug("batch %d: 200 rows parsed, error rate 0.00, failed 0", n)
            for attempt in range(3):
                try:
                    if closed:
                        raise RuntimeError("segment is read-only")
                    append(file, b"x" * 200)
                    log.info("batch %d written", n)
                    break
                except OSError:
                    log.warning("segment closed", exc_info=True)
                    closed = True
                except RuntimeError as error:
                    log.error("batch %d failed: %s, attempt %d", n, error, attempt)
            else:
                failed += 1
    log.critical("import incomplete: %d batches failed", failed)
    return 2


sys.exit(main())
X
}
run() { set -o pipefail; python importer.py 2>&1 | cat; }
