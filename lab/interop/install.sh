#!/usr/bin/env bash
# Fetches the FTP servers and proxies that the interop tests run, on Debian 12.
#
# Their packages conflict with each other and would start services, so they are
# not installed: they are downloaded and unpacked side by side into
# $FTPFETCH_INTEROP_DIR (default: ftpfetch-interop in the user's cache
# directory). The script installs only what the system still lacks (python3,
# a tool, a library), which needs root. Running it again is quick.
set -euo pipefail

dir=${FTPFETCH_INTEROP_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ftpfetch-interop}
root=$dir/root
stamp=$dir/unpacked

servers=(vsftpd proftpd-core proftpd-mod-crypto pure-ftpd pure-ftpd-common
	inetutils-ftpd ftpd-ssl python3-pyftpdlib python3-aioftp python3-twisted
	globus-gridftp-server-progs
	microsocks tinyproxy-bin squid squid-common
	ftp-proxy proftpd-mod-proxy)
# npm's servers.
packages=(ftp-srv@4.6.3 ftpd@0.2.16)
# What the Python servers import.
modules=(python3-attr python3-automat python3-cffi-backend python3-constantly
	python3-cryptography python3-hyperlink python3-idna python3-incremental
	python3-openssl python3-zope.interface)
# Libraries that the servers link against and a bare system lacks, and libnss-wrapper,
# which shows a server other accounts than the machine's.
libraries=(libnss-wrapper libhiredis0.14 libmemcached11 libmemcachedutil2
	libhashkit2 libsasl2-2 libpcre2-posix3 libsodium23 libwrap0 libnsl2 libtirpc3
	libcap2 libecap3 libnetfilter-conntrack3 libnfnetlink0 libmnl0 libltdl7
	libglobus-{authz,callout,common,gfork,gridftp-server-control,gsi-callback}0
	libglobus-{authz-callout-error,gsi-cert-utils,gsi-openssl-error}0
	libglobus-{gsi-proxy-core,openssl-module,xio}0
	libglobus-{gsi-credential,gsi-proxy-ssl,gsi-sysconfig,ftp-control}1
	libglobus-gssapi-error2 libglobus-{gss-assist,io}3 libglobus-gssapi-gsi4
	libglobus-gridftp-server6 libglobus-xio-{gsi,pipe}-driver)
# These are installed, not unpacked, and only if a program does not link without them.
system=(libc6 libssl3 libpam0g libpam-modules libpam-runtime libcrypt1 libacl1
	libstdc++6 libgssapi-krb5-2 libkrb5-3 libgnutls30 libnettle8 libsystemd0)
programs=(usr/sbin/vsftpd usr/sbin/proftpd usr/lib/proftpd/mod_tls.so
	usr/sbin/pure-ftpd usr/bin/pure-pw usr/sbin/ftpd usr/sbin/in.ftpd
	usr/sbin/globus-gridftp-server
	usr/lib/proftpd/mod_proxy.so usr/sbin/ftp-proxy
	usr/bin/microsocks usr/bin/tinyproxy usr/sbin/squid
	usr/lib/squid/basic_ncsa_auth)

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# refresh updates the package lists, once per run.
refresh() {
	[ -z "${refreshed:-}" ] || return 0
	as_root apt-get update -q
	refreshed=yes
}

install_packages() {
	refresh
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -o DPkg::Lock::Timeout=600 install -q -y --no-install-recommends "$@" </dev/null
}

unpack() {
	local debs=$dir/debs
	rm -rf "$debs" "$root" "$stamp"
	mkdir -p "$debs" "$root"
	refresh
	(cd "$debs" && apt-get -q -o APT::Sandbox::User="$(id -un)" download "${servers[@]}" "${modules[@]}" "${libraries[@]}")
	local deb
	for deb in "$debs"/*.deb; do
		dpkg -x "$deb" "$root"
		dpkg-deb --show "$deb" # package and version
	done >"$dir/versions"
	rm -rf "$debs"
	wanted >"$stamp"
}

wanted() { printf '%s\n' "${servers[@]}" "${modules[@]}" "${libraries[@]}"; }

# unlinked prints the libraries that the programs need but do not find.
unlinked() {
	local libs program
	libs=$(echo "$root"/usr/lib/*-linux-gnu):$(echo "$root"/lib/*-linux-gnu)
	for program in "${programs[@]}"; do
		LD_LIBRARY_PATH=$libs ldd "$root/$program" | sed -n "s|\(.*\) => not found|$program:\1|p"
	done
}

# Only one script at a time: two clones may run their tests on one machine.
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9

if [ "$(cat "$stamp" 2>/dev/null)" != "$(wanted)" ]; then unpack; fi
if ! [ -x /usr/bin/node ] || ! command -v npm >/dev/null; then install_packages nodejs npm; fi
if [ "$(cat "$dir/npm/installed" 2>/dev/null)" != "${packages[*]}" ]; then
	rm -rf "$dir/npm"
	mkdir -p "$dir/npm"
	npm install --prefix "$dir/npm" --no-audit --no-fund --ignore-scripts --loglevel=error "${packages[@]}"
	echo "${packages[*]}" >"$dir/npm/installed"
fi
# Servers that are Go modules.
small=$(cd "$(dirname "${BASH_SOURCE[0]}")/small" && pwd)
state=$(cat "$small"/go.* "$small"/*/*.go | sha256sum)
if [ "$(cat "$dir/small/installed" 2>/dev/null)" != "$state" ]; then
	mkdir -p "$dir/small"
	go -C "$small" build -o "$dir/small/" ./...
	echo "$state" >"$dir/small/installed"
fi
if ! [ -x /usr/bin/python3 ]; then install_packages python3; fi
for tool in strace curl aria2c:aria2 chromium make parallel mkntfs:ntfs-3g mount.exfat-fuse:exfat-fuse mkfs.exfat:exfatprogs mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs mkfs.btrfs:btrfs-progs \
	bindfs unionfs-fuse encfs cryfs gocryptfs sshfs /usr/lib/openssh/sftp-server:openssh-sftp-server fuse-overlayfs rclone fuse2fs mergerfs mount.posixovl:fuse-posixovl; do
	if ! command -v "${tool%:*}" >/dev/null; then install_packages "${tool#*:}"; fi
done
if [ -n "$(unlinked)" ]; then install_packages "${system[@]}"; fi
if [ -n "$(unlinked)" ]; then
	echo "interop/install.sh: these libraries are still missing:" >&2
	unlinked >&2
	exit 1
fi
echo "the servers are in $dir"
