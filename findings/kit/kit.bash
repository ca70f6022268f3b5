# Functions for the scripts of findings/, which source this file. It works in a temporary folder, and removes it, and
# ends what the script has started, when the script ends.

set -euo pipefail
kit=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
started=()

finish() {
	local status=$?
	if [ ${#started[@]} -gt 0 ]; then kill "${started[@]}" 2>/dev/null || true; fi
	wait
	rm -rf "$work"
	exit "$status"
}
trap finish EXIT
trap 'exit 1' INT TERM
cd "$work"
export LC_ALL=C

# debian PACKAGE=VERSION... unpacks packages of Debian 12, and all that they depend on, into $work/root.
debian() {
	local name deb
	mkdir -p debs/partial root/{dev,proc,tmp} root/usr/{bin,sbin,lib,lib64}
	for name in bin sbin lib lib64; do ln -s "usr/$name" "root/$name"; done
	apt-get -q -y -o Dir::State::status=/dev/null -o Dir::Cache::archives="$work/debs" -o APT::Sandbox::User="$(id -un)" \
		--no-install-recommends --download-only install base-files coreutils dash "$@" >/dev/null
	for deb in debs/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C root -f -; done
	rm -rf debs
	printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >root/etc/passwd
	printf 'root:x:0:\nnogroup:x:65534:\n' >root/etc/group
}

# also PACKAGE=VERSION... adds packages to $work/root without what they depend on, for packages that conflict.
also() {
	mkdir -p more
	(cd more && apt-get -q -o APT::Sandbox::User="$(id -un)" download "$@" >/dev/null)
	local deb
	for deb in more/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C root -f -; done
	rm -rf more
}

# inside COMMAND... runs a program of $work/root there, in /tmp, for at most 20 seconds.
inside() {
	limited unshare --mount --pid --fork --kill-child sh -c '
		root=$1; shift
		mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"
		exec chroot "$root" /usr/bin/env -C /tmp -i HOME=/tmp LC_ALL=C PATH=/usr/sbin:/usr/bin TERM=dumb TZ="${TZ:-UTC}" "$@"
	' sh "$work/root" "$@"
}

# modules NAME==VERSION... installs packages of PyPI, without what they depend on, for this script's python3.
modules() {
	python3 -m pip install -q --disable-pip-version-check --no-deps --target "$work/python" "$@"
	export PYTHONPATH=$work/python
}

# packages NAME@VERSION... installs packages of npm.
packages() {
	npm install --prefix "$work/npm" --no-audit --no-fund --ignore-scripts --loglevel=error "$@" >/dev/null
}

# serve DIRECTORY OPTIONS... starts the server of ftpd.py, whose port is then $port, and whose log $work/log.
serve() {
	: >"$work/log"
	exec {said}< <(exec python3 "$kit/ftpd.py" "$1" "$work/log" "${@:2}")
	started+=($!)
	read -r -t 20 port <&"$said"
}

# limited COMMAND... runs it for at most 20 seconds.
limited() { HOME=$work timeout -k 2 20 "$@" </dev/null; }

# expect WHAT WANT GOT says what was seen, and fails if it is not what was expected.
expect() {
	if [ "$2" != "$3" ]; then
		printf 'CHANGED: %s\n  was: %s\n  now: %s\n' "$1" "$2" "$3" >&2
		exit 1
	fi
	printf '%s: %s\n' "$1" "$3"
}

# attempt COMMAND... runs a program of $work/root, and sets $got to how it ends and the commands that it sends but QUIT.
attempt() {
	local status=0
	: >"$work/log"
	inside "$@" >"$work/stdout" 2>"$work/stderr" || status=$?
	got="exit code $status after $(sed '/^QUIT/d; s/ .*//' "$work/log" | tr '\n' ' ')"
	got=${got% }
}
