#!/usr/bin/env bash
# Fetches the programs whose commands docs/clients.md shows, on Debian 12.
#
# They and all that they need are downloaded and unpacked, not installed, into $FTPFETCH_CLIENTS_DIR (default:
# ftpfetch-clients in the user's cache directory). The benchmark runs them there as in a system of their own. The
# script needs root, and npm, which ../interop/install.sh installs. Running it again is quick.
set -euo pipefail

dir=${FTPFETCH_CLIENTS_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ftpfetch-clients}
root=$dir/root
stamp=$dir/unpacked

programs=(curl wget wget2 busybox lftp aria2 ncftp tnftp axel snarf puf lynx links elinks w3m httrack apt
	libglib2.0-bin gvfs gvfs-backends mc ffmpeg python3 python3-ftputil python3-fsspec libwww-perl perl php8.2-cli
	openjdk-17-jdk-headless tcl8.6 tcllib erlang-base erlang-ftp ruby r-base-core git git-annex libxml2-utils
	nodejs rclone)
# What their scripts and the benchmark's run: no package of a bare system is there unless it is named.
basics=(base-files bash bsdutils coreutils dash dbus-daemon dbus-session-bus-common debianutils gawk grep sed)
packages=(get-uri@6.0.5 basic-ftp@5.0.5)

wanted() { printf '%s\n' "${programs[@]}" "${basics[@]}" "${packages[@]}"; }

# download fetches the packages and all that they depend on, whatever the machine has.
download() {
	apt-get -q update
	mkdir -p "$1/partial"
	apt-get -q -y -o Dir::State::status=/dev/null -o Dir::Cache::archives="$1" -o APT::Sandbox::User="$(id -un)" \
		--no-install-recommends --download-only install "${programs[@]}" "${basics[@]}"
}

unpack() {
	local debs=$dir/debs deb name
	rm -rf "$debs" "$root" "$dir/npm" "$stamp"
	download "$debs"
	mkdir -p "$root"/{dev,proc,tmp} "$root"/usr/{bin,sbin,lib,lib64}
	for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
	for deb in "$debs"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C "$root" -f -
		dpkg-deb --show "$deb" # package and version
	done >"$dir/versions"
	rm -rf "$debs"
	settle
	npm install --prefix "$root/srv" --no-audit --no-fund --ignore-scripts --loglevel=error "${packages[@]}"
	wanted >"$stamp"
}

# settle does what the packages' own scripts would have done.
settle() {
	printf 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n' >"$root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
	printf '127.0.0.1 localhost client\n::1 localhost\n' >"$root/etc/hosts"
	cp "$root/usr/lib/R/etc/Renviron.ucf" "$root/etc/R/Renviron"
	ln -sf which.debianutils "$root/usr/bin/which"
	chroot "$root" /usr/lib/x86_64-linux-gnu/glib-2.0/glib-compile-schemas /usr/share/glib-2.0/schemas
}

mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
if [ "$(cat "$stamp" 2>/dev/null)" != "$(wanted)" ]; then unpack; fi
echo "the clients are in $root"
