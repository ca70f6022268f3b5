"""Serves two directories: the arguments of pyftpdlib_server.py.

With a certificate, all connections are under TLS from their first byte.
"""
import asyncio
import ssl
import sys

import aioftp


async def main(host, port, public, user, password, home, cert, limit, idle):
    read_only = [aioftp.Permission("/", writable=False)]
    users = [
        aioftp.User(base_path=public, permissions=read_only),
        aioftp.User(user, password, base_path=home, permissions=read_only),
    ]
    context = None
    if cert:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(cert)
    server = aioftp.Server(
        users,
        ssl=context,
        maximum_connections=int(limit) or None,
        idle_timeout=int(idle) or None,
        wait_future_timeout=10,  # by default 425 after a second, too soon on a busy machine
    )
    await server.run(host, int(port))


asyncio.run(main(*sys.argv[1:]))
