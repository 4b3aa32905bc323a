# tool: postgres server log
# how: all statements of pgbench are logged, then a table cannot be read because its file was damaged
# decisive: invalid page in block 0 of relation base/5/
prepare() {
initdb -D data -A trust -U app > /dev/null
echo "log_statement = all
log_duration = on
port = 54398
unix_socket_directories = '/srv/app/shop'" >> data/postgresql.conf
}
run() {
postgres -D data &
server=$!
sleep 3
pgbench -h /srv/app/shop -p 54398 -i -s 1 postgres > made 2>&1
pgbench -h /srv/app/shop -p 54398 -t 600 -c 4 postgres > load 2>&1
psql -h /srv/app/shop -p 54398 postgres -qAt -c "checkpoint" -c "select pg_relation_filepath('pgbench_tellers')" > path 2> /dev/null
pg_ctl -D data -m fast stop > /dev/null
printf '\377%.0s' $(seq 64) | dd of=data/$(tail -1 path) conv=notrunc 2> /dev/null
postgres -D data &
server=$!
sleep 2
pgbench -h /srv/app/shop -p 54398 -n -t 600 -c 4 postgres > load 2>&1
code=$?
pg_ctl -D data -m fast stop > /dev/null
return $code
}
