#!/usr/bin/env bash
# RFC 959 section 5.4 lists two positive replies to PASS: 230 and 202, "superfluous at this site".
#
# Guess: every client takes any reply of 2yz to PASS for a login, as RFC 959 section 4.2 asks.
# Seen: busybox wget 1.35.0 and aria2 1.36.0 want 230, and end before they ask for the file. curl, wget and tnftp go on.
# Why it matters: such servers log everybody in with USER alone, and say so with 202. A client that compares whole codes
# where the first digit is meant calls that a wrong password.
source "$(dirname "$0")/kit/kit.bash"
debian curl=7.88.1-10+deb12u15 wget=1.21.3-1+deb12u1 busybox=1:1.35.0-4+deb12u1+b1 aria2=1.36.0-1 tnftp=20210827-4+b1
mkdir served
echo text >served/file
serve served 'pass=202 No password is needed here.'
url=ftp://127.0.0.1:$port/file

attempt curl -sS "$url"
expect curl 'exit code 0 after USER PASS PWD EPSV TYPE SIZE RETR' "$got"
attempt wget -q -t 1 -O - "$url"
expect wget 'exit code 0 after USER PASS SYST PWD TYPE SIZE PASV RETR' "$got"
attempt tnftp -V -o out "$url"
expect tnftp 'exit code 0 after USER PASS SYST FEAT TYPE SIZE EPSV RETR MDTM' "$got"
attempt busybox wget -O - "$url"
expect 'busybox wget' 'exit code 1 after USER PASS' "$got"
expect 'its message' 'wget: ftp login: 202 No password is needed here.' "$(tail -n 1 stderr)"
attempt aria2c -m 1 -o out "$url"
expect aria2 'exit code 21 after USER PASS' "$got"
expect 'its message' 'The response status is not successful. status=202' "$(grep -ao 'The response status is not successful. status=202' stderr stdout | sed 's/.*://' | head -n 1)"
