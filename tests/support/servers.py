"""Servers in tests: a free port, and a program that listens on one."""

import socket
import sys

SERVER = """
import socket, sys
server = socket.create_server((sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
while True:
    peer = server.accept()[0]
    peer.recv(4096)
    peer.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\nhello\\n")
    peer.close()
"""


def free_port() -> int:
    """A port of loopback that nobody has at this moment."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def server(port: int) -> list[str]:
    """The words of a program that answers every request on a port of loopback."""
    return [sys.executable, "-c", SERVER, str(port)]


def is_free(port: int) -> bool:
    """Whether nobody listens on a port of loopback."""
    with socket.socket() as ours:
        return ours.connect_ex(("127.0.0.1", port)) != 0
