#!/usr/bin/env bash
# RFC 2428 section 3: the delimiter of the reply to EPSV is any character of 33 to 126; "|" is only recommended.
#
# Guess: a client that reads 229 reads the delimiter from the reply, because it stands in front of the port.
# Seen: busybox wget 1.35.0 and PHP 8.2 want "|". Both end with an error, and neither asks for PASV then, although the
# server has it. curl and tnftp read "!".
# Why it matters: a server whose only fault is another legal character has no files for two of the commonest clients of
# small systems and web sites.
source "$(dirname "$0")/kit/kit.bash"
debian curl=7.88.1-10+deb12u15 busybox=1:1.35.0-4+deb12u1+b1 tnftp=20210827-4+b1 php8.2-cli=8.2.36-1~deb12u1
mkdir served
echo text >served/file
serve served 'epsv=229 Entering Extended Passive Mode (!!!{}!)'
url=ftp://127.0.0.1:$port/file

attempt curl -sS "$url"
expect curl 'exit code 0 after USER PASS PWD EPSV TYPE SIZE RETR' "$got"
attempt tnftp -V -o out "$url"
expect tnftp 'exit code 0 after USER PASS SYST FEAT TYPE SIZE EPSV RETR MDTM' "$got"
attempt busybox wget -O - "$url"
expect 'busybox wget' 'exit code 1 after USER PASS TYPE SIZE EPSV' "$got"
expect 'its message, without the port' 'wget: bad response to PASV: 229 Entering Extended Passive Mode (!!!' "$(tail -n 1 stderr | sed 's/[0-9]*!)$//')"
attempt php8.2 -r 'exit(readfile($argv[1]) === false ? 1 : 0);' "$url"
expect PHP 'exit code 1 after USER PASS TYPE SIZE EPSV' "$got"
