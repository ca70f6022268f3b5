"""dialogue.py PORT COMMAND...: logs in, sends the commands, and prints what each brings."""

import ftplib
import sys
import time

ftp = ftplib.FTP()
for attempt in range(50):
    try:
        ftp.connect("127.0.0.1", int(sys.argv[1]), timeout=10)
        break
    except ConnectionRefusedError:
        time.sleep(0.2)
ftp.login("anonymous", "someone@example.com")
for command in sys.argv[2:]:
    if command.split(" ")[0] not in ("RETR", "ERET", "MLSD", "MLSR", "LIST", "NLST"):
        print(command, "->", ftp.sendcmd(command).splitlines()[-1])
        continue
    data = b""
    connection = ftp.transfercmd(command)
    while more := connection.recv(8192):
        data += more
    connection.close()
    print(command, "->", ftp.voidresp().splitlines()[-1], ascii(data.decode("latin-1")))
ftp.quit()
