# tool: docker build
# how: the client, without an engine to talk to
# decisive: Cannot connect to the Docker daemon at unix:///var/run/docker.sock
prepare() { printf 'FROM debian:12\nCOPY app /app\nRUN make -C /app\n' > Dockerfile; mkdir app; }
run() { DOCKER_BUILDKIT=0 docker build -t shop:1 .; }
