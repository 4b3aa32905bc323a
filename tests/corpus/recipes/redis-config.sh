# tool: redis-server
# how: a configuration file with an unknown directive
# decisive: maxmemory-polcy allkeys-lru
# decisive: Bad directive or wrong number of arguments
prepare() { printf 'port 6399\ndaemonize no\nmaxmemory 10mb\nmaxmemory-polcy allkeys-lru\n' > redis.conf; }
run() { redis-server redis.conf; }
