#!/usr/bin/env bash
# The xferlog of an FTP server has a line for each transfer, with its bytes, and at its end "c" for a complete one, or "i"
# for an incomplete one. Three servers write it.
#
# Guess: a download that the client breaks off is "i" in all three, with fewer bytes than the file has.
# Seen: of a file of 300 MB of which the client takes 1,000 bytes, proftpd 1.3.8 and vsftpd 3.0.3 say "i". pure-ftpd 1.0.50
# says "c", with some hundred kilobytes or more. It says "r", a real user, for
# anonymous, too. A resumed download is "c" in all three, with the bytes of this time alone.
# Why it matters: statistics of downloads are made of these lines. By pure-ftpd's, every broken download counts as one, and
# no line of any of the three says how large the file is, or where a resumed transfer began.
source "$(dirname "$0")/kit/kit.bash"
debian proftpd-core=1.3.8+dfsg-4+deb12u5 curl=7.88.1-10+deb12u15 libwrap0 libcap2 libsodium23
also vsftpd=3.0.3-13+b2 pure-ftpd=1.0.50-2.1+b2
mkdir -p root/srv/ftp root/run/{proftpd,vsftpd/empty}
chmod 755 root root/srv root/srv/ftp
truncate -s 300M root/srv/ftp/big
echo 'ftp:x:106:65534:ftp:/srv/ftp:/usr/sbin/nologin' >>root/etc/passwd
cat >root/etc/vsftpd.conf <<'END'
listen=YES
listen_port=2121
listen_address=127.0.0.1
background=NO
anonymous_enable=YES
xferlog_enable=YES
xferlog_std_format=YES
xferlog_file=/srv/vsftpd.log
secure_chroot_dir=/run/vsftpd/empty
seccomp_sandbox=NO
END
cat >root/etc/proftpd.conf <<'END'
Port 2122
DefaultAddress 127.0.0.1
UseReverseDNS off
UseIPv6 off
User nobody
Group nogroup
ScoreboardFile /run/proftpd/scoreboard
PidFile /run/proftpd/pid
TransferLog /srv/proftpd.log
SystemLog none
WtmpLog off
RequireValidShell off
AuthOrder mod_auth_unix.c
<Anonymous /srv/ftp>
  User ftp
  Group nogroup
  UserAlias anonymous ftp
</Anonymous>
END
# In a network of their own, the servers have the ports to themselves.
cat >run.sh <<'END'
ip link set lo up
mount --rbind /dev root/dev
mount -t proc proc root/proc
chroot root vsftpd /etc/vsftpd.conf &
chroot root proftpd -n -c /etc/proftpd.conf &
chroot root pure-ftpd -S 127.0.0.1,2123 -e -H -O xferlog:/srv/pure-ftpd.log &
for port in 2121 2122 2123; do
	url=ftp://127.0.0.1:$port/big
	chroot root curl -sS --retry 20 --retry-connrefused --retry-delay 1 -o /dev/null "$url" --range 0-999
	chroot root curl -sS -o /dev/null -C 314571800 "$url"
done
for server in vsftpd proftpd pure-ftpd; do
	for _ in {1..50}; do
		[ "$(wc -l <"root/srv/$server.log")" = 2 ] || sleep 0.1
	done
done
kill $(jobs -p)
END
PATH=$PATH:/usr/sbin limited unshare --net --mount --pid --fork --kill-child bash run.sh >said 2>&1 || true

# line SERVER N sets $got to the Nth line of its log: whether all of the file was counted, access mode and status.
line() {
	got=$(sed -n "$2p" "root/srv/$1.log" | awk '{
		bytes = $8
		if (bytes > 1000 && bytes < 314572800) bytes = "some"
		print bytes, $13, $NF
	}')
}

line vsftpd 1
expect 'vsftpd, broken off' 'some a i' "$got"
line vsftpd 2
expect 'vsftpd, resumed' '1000 a c' "$got"
line proftpd 1
expect 'proftpd, broken off' 'some a i' "$got"
line proftpd 2
expect 'proftpd, resumed' '1000 a c' "$got"
line pure-ftpd 1
expect 'pure-ftpd, broken off' 'some r c' "$got"
line pure-ftpd 2
expect 'pure-ftpd, resumed' '1000 r c' "$got"
