#!/usr/bin/env bash
# RFC 959 section 5.4 gives a server three replies to a new connection: 220, 421, and "120 Service ready in nnn minutes",
# after which the client waits for the 220.
#
# Guess: old and widely used clients wait for the 220; a few small ones give up with a message.
# Seen: of curl, wget, busybox wget, tnftp and aria2, and of ftplib, none retrieves the file. curl, wget and busybox refuse
# the 120. tnftp and ftplib take it for the greeting, and from then on each reply for that to the next command: ftplib
# takes the 220 as the answer to USER, reports a login without a password, and fails at the first CWD with the text of
# 331. Only lftp waits.
# Why it matters: the reply is standard, but a server that sends it serves hardly anybody. And a client that miscounts once
# stays one reply behind: no later error says what was wrong.
source "$(dirname "$0")/kit/kit.bash"
debian curl=7.88.1-10+deb12u15 wget=1.21.3-1+deb12u1 busybox=1:1.35.0-4+deb12u1+b1 tnftp=20210827-4+b1 \
	aria2=1.36.0-1 lftp=4.9.2-2+b1 libpython3.11-stdlib=3.11.2-6+deb12u9 python3.11-minimal=3.11.2-6+deb12u9
mkdir served
echo text >served/file
serve served 'greeting=120 Ready in a moment./ 220 Ready.'
url=ftp://127.0.0.1:$port/file

attempt curl -sS "$url"
expect curl 'exit code 8 after' "$got"
attempt wget -q -t 1 -O - "$url"
expect wget 'exit code 4 after' "$got"
attempt busybox wget -q -O - "$url"
expect 'busybox wget' 'exit code 1 after' "$got"
attempt aria2c -q -m 1 -o out "$url"
expect aria2 'exit code 21 after' "$got"
attempt tnftp -V -o out "$url"
expect tnftp 'exit code 1 after USER SYST FEAT TYPE EPSV' "$got"
attempt lftp -c "set net:max-retries 1; get $url -o out"
expect lftp 'exit code 0 after FEAT USER PASS PWD TYPE SIZE MDTM PASV RETR' "$got"

program='
import ftplib, sys
ftp = ftplib.FTP()
ftp.connect("127.0.0.1", int(sys.argv[1]))
print("login:", ftp.login("me", "secret"))
try:
    ftp.cwd("/")
except ftplib.Error as err:
    print("CWD:", type(err).__name__, err)
'
got=$(inside python3.11 -c "$program" "$port" 2>&1 || true)
expect ftplib 'login: 220 Ready.
CWD: error_reply 331 Password, please.' "$got"
