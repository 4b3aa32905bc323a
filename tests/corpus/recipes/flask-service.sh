# tool: python service, flask
# how: 25,000 requests in the access log; a template cannot be found in the middle, a health check then fails for ever
# decisive: jinja2.exceptions.TemplateNotFound: invoice_de.html
prepare() {
cat > service.py <<'X'
import logging
import sys

import flask

logging.basicConfig(level=logging.DEBUG, stream=sys.stderr, format="%(asctime)s %(levelname)s in %(name)s: %(message)s")
app = flask.Flask("shop")
access = logging.getLogger("access")
state = {"ready": True}


@app.get("/invoice/<language>")
def invoice(language):
    try:
        return flask.render_template(f"invoice_{language}.html")
    except Exception:
        state["ready"] = False
        raise


@app.get("/orders/<int:n>")
def orders(n):
    return {"n": n, "error": None}


@app.get("/health")
def health():
    return ("ok", 200) if state["ready"] else ("not ready", 503)


def main():
    bad = 0
    with app.test_client() as client:
        for n in range(25000):
            path = f"/orders/{n}" if n % 5 else "/health"
            if n == 14001:
                path = "/invoice/de"
            answer = client.get(path)
            access.info('127.0.0.1 - - "GET %s HTTP/1.1" %d %d failed=0', path, answer.status_code, len(answer.data))
            if path == "/health" and answer.status_code != 200:
                bad += 1
                access.warning("health check failed %d times in a row", bad)
    return "service is not healthy" if bad else 0


sys.exit(main())
X
}
run() { python service.py; }
