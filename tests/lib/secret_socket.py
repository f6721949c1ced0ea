# SPDX-License-Identifier: Apache-2.0
"""A server of the host that no command may reach unless the policy says so."""

import contextlib
import os
import socket
import threading


@contextlib.contextmanager
def secret_socket(path, seconds=20):
    """Sends "secret" to everybody who connects to this Unix socket, which everybody may."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    os.chmod(path, 0o777)
    server.listen()
    server.settimeout(seconds)

    def serve():
        while True:
            try:
                server.accept()[0].send(b"secret")
            except OSError:
                return
    threading.Thread(target=serve, daemon=True).start()
    try:
        yield path
    finally:
        server.close()
