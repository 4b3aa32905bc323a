# tool: bash, curl -v
# how: a smoke test asks 700 times for a service that is not there; the reason it ended is in its first lines
# decisive: open() "/srv/app/shop/mime.types" failed (2: No such file or directory)
prepare() {
cat > smoke.sh <<'X'
mkdir -p logs
nginx -p /srv/app/shop -c nginx.conf 2>&1 &
sleep 1
for attempt in $(seq 700); do
  echo "attempt $attempt of 700"
  curl -v --max-time 2 http://127.0.0.1:8097/health 2>&1 && exit 0
  echo "error: no answer, retrying"
done
echo "service did not become healthy"
exit 1
X
printf 'pid logs/nginx.pid;\ndaemon off;\nerror_log stderr;\nevents {}\nhttp {\n  include mime.types;\n  server { listen 8097; }\n}\n' > nginx.conf
}
run() { bash smoke.sh; }
