#!/usr/bin/env bash
# git clones over ftp as over "dumb" http: it reads info/refs and objects as files.
#
# Guess: after git update-server-info a bare repository clones without a word, whether its objects are loose or in a pack.
# Seen (git 2.39.5 with libcurl 7.88.1): both clone, with exit code 0. For the pack git says "error: Server denied you to
# change to the given directory (curl_result = 9, http_code = 550, ...)": it asks for each object as a loose file first,
# and takes a missing file (curl's 78) for an answer, but not a missing directory (curl's 9), though packing has removed
# the directory too.
# Why it matters: whether a path is refused at CWD or at RETR is chance: the same missing file is an error or none. A
# caller that looks for "error:" calls a good clone bad.
source "$(dirname "$0")/kit/kit.bash"
debian git=1:2.39.5-0+deb12u3 libcurl3-gnutls=7.88.1-10+deb12u15

git() { inside git "$@"; }
git config --global user.name name
git config --global user.email name@example.com
git config --global init.defaultBranch main
git init -q source
for n in 1 2 3; do
	echo "$n" >"root/tmp/source/file$n"
	git -C source add .
	git -C source commit -q -m "$n"
done
git clone -q --bare --no-local source loose.git
git clone -q --bare --no-local source packed.git
git -C packed.git repack -adq
inside sh -c 'mv loose.git/objects/pack/*.pack all && rm -f loose.git/objects/pack/* && git -C loose.git unpack-objects -q <all'
for name in loose packed; do git -C "$name.git" update-server-info; done
serve root/tmp

# clone NAME clones the repository, and sets $got to how that ends and how many lines with an error it says.
clone() {
	attempt git clone -q "ftp://127.0.0.1:$port/$1.git" "got-$1"
	got="${got%% after*}, $(find "root/tmp/got-$1" -name 'file?' | wc -l) files, $(grep -c '^error' stderr || true) errors"
}

clone loose
expect 'loose objects' 'exit code 0, 3 files, 0 errors' "$got"
clone packed
expect 'a pack' 'exit code 0, 3 files, 1 errors' "$got"
expect 'the error' 'error: Server denied you to change to the given directory (curl_result = 9, http_code = 550' "$(grep '^error' stderr | cut -d , -f 1,2)"
