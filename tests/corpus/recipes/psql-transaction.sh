# tool: psql
# how: a dump of 25,000 statements in one transaction, the first failing one in the middle, the rest refused
# decisive: ERROR:  duplicate key value violates unique constraint "orders_pkey"
# decisive: Key (id)=(9000) already exists.
prepare() {
initdb -D data -A trust -U app > /dev/null; pg_ctl -D data -w start -l log -o "-p 54399 -k /srv/app/shop" > /dev/null
python3 - <<'X'
rows = ["begin;", "create table orders (id integer primary key, said text);"]
rows += [f"insert into orders values ({9000 if n == 12000 else n}, 'order {n} without error');" for n in range(25000)]
open("dump.sql", "w").write("\n".join([*rows, "commit;", "\\set ON_ERROR_STOP on", "select count(*) from orders;"]))
X
}
run() { psql -h /srv/app/shop -p 54399 -d postgres -e -f dump.sql; code=$?; pg_ctl -D data -m fast stop > /dev/null; return $code; }
