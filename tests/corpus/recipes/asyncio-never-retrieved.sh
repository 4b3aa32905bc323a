# tool: python, asyncio
# how: 4,000 tasks fail because of one that failed first, their exceptions are never retrieved
# decisive: ssl.SSLError: no start line: cadata does not contain a certificate
prepare() {
cat > crawl.py <<'X'
import asyncio
import ssl
import sys

session = None


async def opened():
    global session
    print("opening session", flush=True)
    context = ssl.create_default_context()
    context.load_verify_locations(cadata="# nothing\n" if False else "-----BEGIN")
    session = object()


async def fetched(n):
    await asyncio.sleep(0)
    if session is None:
        raise RuntimeError(f"page {n}: session is not open")


async def main():
    tasks = [asyncio.create_task(opened())] + [asyncio.create_task(fetched(n)) for n in range(4000)]
    await asyncio.sleep(0.5)
    done = sum(task.done() and not task._exception for task in tasks)
    print("pages:", done - 1, flush=True)
    return 1


sys.exit(asyncio.run(main()))
X
}
run() { python crawl.py; }
