#!/usr/bin/env bash
# A client sends USER and PASS, and with them what it would send next anyway, without waiting for each reply.
#
# Guess: RFC 959 has one reply for each command, in the order of the commands, so that the third reply is that to the third
# command, as with every other server here. A wrong password only makes the server slower.
# Seen (pyftpdlib 1.5.7): the reply to a wrong PASS is held back for about three seconds, as a guard against guessing, but
# commands that came in the same packet are answered at once. So the second reply is that to the third command, and the 530
# comes last. With QUIT among them it never comes: the server says 221 and closes. The right password is answered in order.
# Why it matters: a client that counts replies takes "215 UNIX" or "200" for the reply to PASS, and so a login that was
# refused for one that succeeded; or it shows "530 Log in with USER and PASS first" in place of "Authentication failed".
source "$(dirname "$0")/kit/kit.bash"
debian python3-minimal=3.11.2-1+b1 python3-pyftpdlib=1.5.7-3
cat >root/tmp/order.py <<'PYTHON'
import logging
import socket
import threading
import time

from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler
from pyftpdlib.servers import FTPServer

logging.disable(logging.CRITICAL)
FTPHandler.authorizer = DummyAuthorizer()
FTPHandler.authorizer.add_user("bob", "secret", "/tmp")
server = FTPServer(("127.0.0.1", 0), FTPHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()


def codes(password, *more):
    """Sends all in one packet, and prints the codes of the replies, and which of them come after a second."""
    connection = socket.create_connection(server.address, timeout=6)
    lines = connection.makefile("rb")
    lines.readline()
    begun = time.time()
    commands = ("USER bob", "PASS " + password) + more
    connection.sendall("".join(command + "\r\n" for command in commands).encode())
    seen = []
    for _ in commands:
        line = lines.readline()
        if not line:
            seen.append("closed")
            break
        seen.append(line[:3].decode() + (" later" if time.time() - begun > 1 else ""))
    print(", ".join(seen))


codes("secret", "SYST", "NOOP")
codes("wrong", "SYST", "NOOP")
codes("wrong", "SYST", "QUIT")
PYTHON

got=$(inside python3 /tmp/order.py)
expect 'USER, the right PASS, SYST, NOOP' '331, 230, 215, 200' "$(sed -n 1p <<<"$got")"
expect 'USER, a wrong PASS, SYST, NOOP' '331, 215, 200, 530 later' "$(sed -n 2p <<<"$got")"
expect 'USER, a wrong PASS, SYST, QUIT' '331, 215, 221, closed' "$(sed -n 3p <<<"$got")"
