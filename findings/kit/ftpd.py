"""A small FTP server for the scripts of findings/: ftpd.py DIRECTORY LOG [OPTIONS].

It listens on a free port of 127.0.0.1, prints the port, and appends every command to LOG. Each option is a word
"NAME=TEXT": greeting, user, pass, retr and done give the replies to the connection, USER, PASS and RETR (the preliminary and
the final one), where "/ " ends a line; epsv and pasv give the replies to EPSV and PASV, with {} for the numbers, and mdtm
what follows the seconds of MDTM; size is the reply to SIZE. home=DIRECTORY is where a login begins. early=yes sends the
final reply of RETR before the data; cut=N closes the data connection of RETR after N bytes, and replies 426.
"""

import os
import socket
import sys
import threading
import time

root, log = sys.argv[1:3]
options = dict(word.replace("/ ", "\r\n").split("=", 1) for word in sys.argv[3:])


class Session:
    def __init__(self, control):
        self.control, self.file = control, control.makefile("rb")
        self.directory, self.offset, self.passive, self.active = options.get("home", "/"), 0, None, None

    def say(self, text):
        self.control.sendall(text.encode("latin-1") + b"\r\n")

    def path(self, name):
        return root + os.path.normpath(os.path.join(self.directory, name))

    def serve(self):
        self.say(options.get("greeting", "220 ready"))
        for line in self.file:
            line = line.rstrip(b"\r\n").decode("latin-1")
            with open(log, "a") as out:
                out.write(line + "\n")
            verb, _, argument = line.partition(" ")
            answer = getattr(self, "do_" + verb.lower(), None)
            reply = answer(argument) if answer else "502 Command not implemented."
            if reply:
                self.say(reply)
            if verb.upper() == "QUIT":
                break
        self.control.close()

    def do_user(self, _):
        return options.get("user", "331 Password, please.")

    def do_pass(self, _):
        return options.get("pass", "230 Logged in.")

    def do_acct(self, _):
        return "230 Logged in."

    def do_syst(self, _):
        return "215 UNIX Type: L8"

    def do_type(self, _):
        return "200 Done."

    def do_noop(self, _):
        return "200 Done."

    def do_quit(self, _):
        return "221 Goodbye."

    def do_pwd(self, _):
        return '257 "%s" is the directory.' % self.directory.replace('"', '""')

    def do_cwd(self, name):
        there = os.path.normpath(os.path.join(self.directory, name))
        if not os.path.isdir(root + there):
            return "550 No such directory."
        self.directory = there
        return "250 Done."

    def do_rest(self, offset):
        self.offset = int(offset)
        return "350 Restarting."

    def do_size(self, name):
        if "size" in options:
            return options["size"]
        if not os.path.isfile(self.path(name)):
            return "550 No such file."
        return "213 %d" % os.path.getsize(self.path(name))

    def do_mdtm(self, name):
        if not os.path.isfile(self.path(name)):
            return "550 No such file."
        return time.strftime("213 %Y%m%d%H%M%S", time.gmtime(os.path.getmtime(self.path(name)))) + options.get("mdtm", "")

    def listen(self):
        self.passive, self.active = socket.create_server(("127.0.0.1", 0)), None
        self.passive.settimeout(10)
        return self.passive.getsockname()[1]

    def do_epsv(self, _):
        return options.get("epsv", "229 Entering Extended Passive Mode (|||{}|)").format(self.listen())

    def do_pasv(self, _):
        port = self.listen()
        return options.get("pasv", "227 Entering Passive Mode ({}).").format("127,0,0,1,%d,%d" % divmod(port, 256))

    def do_port(self, numbers):
        n = numbers.split(",")
        self.active, self.passive = (".".join(n[:4]), int(n[4]) * 256 + int(n[5])), None
        return "200 Done."

    def do_eprt(self, text):
        part = text.split(text[0])
        self.active, self.passive = (part[2], int(part[3])), None
        return "200 Done."

    def transfer(self, data, cut=False):
        self.say(options.get("retr", "150 Here it comes."))
        connection = socket.create_connection(self.active, 10) if self.active else self.passive.accept()[0]
        time.sleep(0.1)  # some clients lose a final reply that comes together with the first
        final = "426 Connection closed; transfer aborted." if cut else options.get("done", "226 Transfer complete.")
        if "early" in options:
            self.say(final)
            time.sleep(0.5)
        connection.sendall(data)
        connection.close()
        time.sleep(0.1)
        return None if "early" in options else final

    def do_retr(self, name):
        offset, self.offset = self.offset, 0
        if not os.path.isfile(self.path(name)):
            return "550 No such file."
        with open(self.path(name), "rb") as file:
            data = file.read()[offset:]
        if "cut" in options:
            return self.transfer(data[: int(options["cut"])], cut=True)
        return self.transfer(data)

    def names(self, name):
        name = "" if name.startswith("-") else name
        if not os.path.isdir(self.path(name)):
            return None
        return sorted(os.listdir(self.path(name)))

    def lines(self, name, line):
        names = self.names(name)
        if names is None:
            return "550 No such directory."
        return self.transfer("".join(line(n, os.stat(os.path.join(self.path(name), n))) + "\r\n" for n in names).encode())

    def do_nlst(self, name):
        return self.lines(name, lambda n, _: n)

    def do_list(self, name):
        def line(n, s):
            kind = "d" if os.path.isdir(os.path.join(self.path(name), n)) else "-"
            return "%srw-r--r-- 1 ftp ftp %d %s %s" % (kind, s.st_size, time.strftime("%b %d  %Y", time.gmtime(s.st_mtime)), n)

        return self.lines(name if not name.startswith("-") else "", line)

    def do_mlsd(self, name):
        def line(n, s):
            kind = "dir" if os.path.isdir(os.path.join(self.path(name), n)) else "file"
            modified = time.strftime("%Y%m%d%H%M%S", time.gmtime(s.st_mtime))
            return "type=%s;size=%d;modify=%s; %s" % (kind, s.st_size, modified, n)

        return self.lines(name, line)


def serve(control):
    try:
        Session(control).serve()
    except OSError:
        pass  # the client has gone


server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
