#!/usr/bin/env bash
# File::Fetch comes with Perl. It fetches a URL of ftp by the first way that works of those that are installed: LWP, Net::FTP,
# wget, curl, lftp, ncftp.
#
# Guess: an empty file on the server is an empty file here, and the next fetch of the program is as every other.
# Seen (File::Fetch 1.04 of Perl 5.36.0): an empty file counts as "not created", though it is there. So each way fetches it
# once more, with a login of its own, and the fetch fails. Each of them is then marked as one that does not work, for
# as long as the program runs: every later file fails at once, without a connection and without an error text. A
# missing file has no such effect. Forgetting the marks ($File::Fetch::METHOD_FAIL) helps.
# Why it matters: one empty file in a list, such as a lock or a mark that a job is done, ends the fetching of all that come
# after it, in a program that has run for months.
source "$(dirname "$0")/kit/kit.bash"
debian perl=5.36.0-7+deb12u4 perl-modules-5.36=5.36.0-7+deb12u4 wget=1.21.3-1+deb12u1 curl=7.88.1-10+deb12u15
mkdir served
echo text >served/file
: >served/empty
serve served
cat >root/tmp/fetch.pl <<'END_OF_PERL'
use File::Fetch;
$File::Fetch::WARN = 0;
my $url = shift;
for my $name (@ARGV) {
    if ($name eq "forget") { %$File::Fetch::METHOD_FAIL = (); next }
    my $fetch = File::Fetch->new(uri => "$url/$name");
    my $file = $fetch->fetch(to => "got");
    print "$name: ", defined $file ? (-s $file) . " bytes" : "fails, error <" . $fetch->error . ">", "\n";
}
END_OF_PERL

# fetch NAME... fetches the files in one program, and sets $got to what it says and the commands of each login.
fetch() {
	rm -rf root/tmp/got
	attempt perl fetch.pl "ftp://127.0.0.1:$port" "$@"
	got="$(cat stdout)
$(sed '/^QUIT/d; s/ .*//' log | tr '\n' ' ' | sed 's/ USER/\nUSER/g; s/ $//')"
}

fetch file file
expect 'two files' 'file: 5 bytes
file: 5 bytes
USER PASS TYPE PASV RETR
USER PASS TYPE PASV RETR' "$got"
fetch file empty file file
expect 'an empty file between' "file: 5 bytes
empty: fails, error <'curl' said it fetched 'got/empty', but it was not created>
file: fails, error <>
file: fails, error <>
USER PASS TYPE PASV RETR
USER PASS TYPE PASV RETR
USER PASS SYST PWD TYPE SIZE PASV RETR
USER PASS PWD EPSV TYPE SIZE RETR" "$got"
expect 'the empty file is there' '0 got/empty' "$(cd root/tmp && stat -c '%s %n' got/empty)"
fetch missing file
expect 'a missing file before' 'file: 5 bytes' "$(sed -n 2p <<<"$got")"
fetch empty forget file
expect 'the marks forgotten' 'file: 5 bytes' "$(sed -n 2p <<<"$got")"
