"""Serves two directories: the arguments of pyftpdlib_server.py, but no TLS."""
import sys

from twisted.cred.checkers import AllowAnonymousAccess, ICredentialsChecker
from twisted.cred.credentials import IUsernamePassword
from twisted.cred.error import UnauthorizedLogin
from twisted.cred.portal import IRealm, Portal
from twisted.internet import defer, reactor
from twisted.protocols.ftp import FTPAnonymousShell, FTPFactory, IFTPShell
from twisted.python.filepath import FilePath
from zope.interface import implementer


@implementer(IRealm)
class ReadOnly:
    """Gives everyone a shell that cannot write."""

    def __init__(self, public, home):
        self.public, self.home = FilePath(public), FilePath(home)

    def requestAvatar(self, who, mind, *interfaces):
        root = self.home if who else self.public
        return IFTPShell, FTPAnonymousShell(root), lambda: None


@implementer(ICredentialsChecker)
class OneUser:
    """Knows one user. Twisted's own checker compares bytes with what FTP has as text."""

    credentialInterfaces = (IUsernamePassword,)

    def __init__(self, user, password):
        self.known = user, password

    def requestAvatarId(self, given):
        if (given.username, given.password) == self.known:
            return defer.succeed(given.username)
        return defer.fail(UnauthorizedLogin())


def main(host, port, public, user, password, home, cert, limit, idle):
    checkers = [AllowAnonymousAccess(), OneUser(user, password)]
    portal = Portal(ReadOnly(public, home), checkers)
    factory = FTPFactory(portal)
    factory.allowAnonymous = True
    if int(limit):
        factory.connectionLimit = int(limit)
    if int(idle):
        factory.timeOut = int(idle)
    reactor.listenTCP(int(port), factory, interface=host)
    reactor.run()


main(*sys.argv[1:])
