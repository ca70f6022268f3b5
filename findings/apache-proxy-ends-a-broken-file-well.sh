#!/usr/bin/env bash
# Two HTTP proxies fetch ftp URLs for their clients. A server breaks off a file: after half of its bytes it closes the data
# connection, and replies 426. One that knows SIZE (RFC 3659, which not all servers do) has told how long the file is.
#
# Guess: with SIZE, the Content-Length shows the client that the file is cut. Without it the answer comes in chunks, and
# the proxy leaves out the last one, because RFC 9112 section 7.1 ends a complete body by it.
# Seen: squid 5.7 does so. Apache 2.4.71 (mod_proxy_ftp) sends the last chunk: the 426 is ignored, there is nothing in its
# log, and curl ends with 0.
# Why it matters: half a file is a file for every client behind such a proxy, and for every cache.
source "$(dirname "$0")/kit/kit.bash"
debian apache2-bin=2.4.71-1~deb12u1 squid=5.7-2+deb12u6 curl=7.88.1-10+deb12u15
mkdir -p ftp root/run/apache root/log
chmod 777 root/run root/log
head -c 100000 /dev/zero >ftp/f
cat >root/etc/apache.conf <<'END'
ServerName localhost
Listen 127.0.0.1:3180
PidFile /run/apache/pid
ErrorLog /log/apache
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_ftp_module /usr/lib/apache2/modules/mod_proxy_ftp.so
User nobody
Group nogroup
ProxyRequests On
END
cat >root/etc/squid.conf <<'END'
http_port 127.0.0.1:3128
visible_hostname localhost
http_access allow all
cache deny all
cache_effective_user nobody
pid_filename /run/squid.pid
access_log none
cache_log /log/squid
END
# In a network of their own, the proxies and the two servers have the ports to themselves.
cat >run.sh <<'END'
ip link set lo up
mount --rbind /dev root/dev
mount -t proc proc root/proc
chroot root apache2 -DFOREGROUND -f /etc/apache.conf 2>/dev/null &
chroot root squid -N -f /etc/squid.conf 2>/dev/null &
fetch() { # SERVER PORT
	for proxy in apache:3180 squid:3128; do
		status=0
		chroot root curl -sS --retry 20 --retry-connrefused --retry-delay 1 -x "127.0.0.1:${proxy#*:}" \
			-o "/log/$1-${proxy%:*}" "ftp://127.0.0.1:$2/f" || status=$?
		echo "curl ends with $status, $(stat -c %s "root/log/$1-${proxy%:*}") bytes" >"root/log/$1-${proxy%:*}.said"
	done
}
for server in with without; do
	size=()
	if [ $server = without ]; then size=('size=502 Command not implemented.'); fi
	exec {said}< <(exec python3 "$1" ftp log cut=50000 "${size[@]}")
	read -r port <&"$said"
	fetch $server "$port"
done
kill $(jobs -p)
END
PATH=$PATH:/usr/sbin limited unshare --net --mount --pid --fork --kill-child bash run.sh "$kit/ftpd.py" >said 2>&1 || true

for proxy in squid apache; do
	expect "$proxy, SIZE is known" 'curl ends with 18, 50000 bytes' "$(cat "root/log/with-$proxy.said")"
done
expect 'squid, SIZE is not known' 'curl ends with 18, 50000 bytes' "$(cat root/log/without-squid.said)"
expect 'Apache, SIZE is not known' 'curl ends with 0, 50000 bytes' "$(cat root/log/without-apache.said)"
expect 'errors in the log of Apache' 0 "$(grep -c -v ':notice' root/log/apache || true)"
