# Starts the GridFTP server of Debian 12 in a network of its own, and talks to it. For the scripts of findings/, which source
# kit.bash first.

debian globus-gridftp-server-progs=13.24-3
mkdir -p root/srv/ftp/{directory,etc}
printf '127.0.0.1 localhost %s\n' "$(hostname)" | tee root/etc/hosts >root/srv/ftp/etc/hosts # it looks up its own name
printf 0123456789 >root/srv/ftp/digits
echo text >root/srv/ftp/directory/file
chmod -R a+rX root

# dialogue COMMAND... prints what each command brings: the last line of its reply, and the data, with an escape for each
# character that cannot be seen. Commands that transfer get a data connection of their own.
dialogue() {
	cat >run.sh <<'END'
ip link set lo up
mount --rbind /dev root/dev
mount -t proc proc root/proc
chroot root /usr/sbin/globus-gridftp-server -p 2811 -control-interface 127.0.0.1 -data-interface 127.0.0.1 \
	-aa -anonymous-user nobody -anonymous-group nogroup -chroot-path /srv/ftp -home-dir / >server.log 2>&1 &
python3 "$kit/dialogue.py" 2811 "$@"
kill $!
END
	kit=$kit limited unshare --net --mount --pid --fork --kill-child bash run.sh "$@"
}
