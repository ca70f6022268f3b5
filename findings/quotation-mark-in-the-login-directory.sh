#!/usr/bin/env bash
# RFC 959 appendix II: PWD answers 257 "NAME", and a quotation mark in NAME is doubled.
#
# Guess: a client that asks for the directory, to make absolute paths from it, undoes the doubling.
# Seen: wget 1.21.3 and aria2 1.36.0 end the name at the first mark, and send CWD /o for /o"d. That is another directory,
# or none, so neither can retrieve any file. lftp 4.9.2, which builds absolute paths too, undoes the doubling.
# Why it matters: the programs fail for every file of such a user. The reply is right, and the URL names no such thing.
source "$(dirname "$0")/kit/kit.bash"
debian wget=1.21.3-1+deb12u1 aria2=1.36.0-1 lftp=4.9.2-2+b1
mkdir -p 'served/o"d/etc'
echo text >'served/o"d/etc/file'
serve served 'home=/o"d'
url=ftp://127.0.0.1:$port/etc/file

attempt lftp -c "set net:max-retries 1; get $url -o out"
expect lftp 'exit code 0 after FEAT USER PASS PWD TYPE SIZE MDTM PASV RETR' "$got"
expect 'what it sends' 'RETR /o"d/etc/file' "$(grep RETR log)"
attempt wget -q -t 1 -O - "$url"
expect wget 'exit code 8 after USER PASS SYST PWD TYPE CWD' "$got"
expect 'what it sends' 'CWD /o/etc' "$(grep CWD log)"
attempt aria2c -q -m 1 -o out "$url"
expect aria2 'exit code 3 after USER PASS TYPE PWD CWD' "$got"
expect 'what it sends' 'CWD /o' "$(grep CWD log)"
