# tool: postgres
# how: a server whose configuration asks for more memory than there is
# decisive: could not map anonymous shared memory: Cannot allocate memory
prepare() { initdb -D data -A trust > /dev/null; echo "shared_buffers = 900GB" >> data/postgresql.conf; echo "unix_socket_directories = '/srv/app/shop'" >> data/postgresql.conf; }
run() { pg_ctl -D data -w start -o "-p 54391"; }
