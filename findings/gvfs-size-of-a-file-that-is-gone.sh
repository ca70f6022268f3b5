#!/usr/bin/env bash
# gio, and all programs of GNOME, read ftp URLs through gvfs, which keeps one connection for each server.
#
# Guess: gio info of a file that has grown, or is gone, asks the server, as gio cat does.
# Seen (gvfs 1.50.3): gio cat brings the new bytes, and gio info after it says the old size. It answers from the listing of the
# directory that it made first, without any command to the server. Once the file is deleted, gio info still names it, with
# a size, and exit code 0, even after gio cat of it has failed. gio list lists again, and from then on info is right.
# Why it matters: a program that compares the size before and after a copy to see that it is whole calls a whole copy wrong,
# and one that asks whether a file is there gets yes.
source "$(dirname "$0")/kit/kit.bash"
debian gvfs-backends=1.50.3-1+deb12u1 libglib2.0-bin dbus-daemon dbus-session-bus-common bash sed grep
inside /usr/lib/x86_64-linux-gnu/glib-2.0/glib-compile-schemas /usr/share/glib-2.0/schemas
mkdir root/tmp/served
echo text >root/tmp/served/file
serve root/tmp/served

cat >root/tmp/session.sh <<'END'
url=ftp://127.0.0.1:$1
size() { gio info -a standard::size "$url/file" 2>/dev/null | sed -n 's/.*standard::size: //p' | grep . || echo none; }
gio mount -a "$url"
echo "at first: info $(size), cat $(gio cat "$url/file" | wc -c)"
echo 'some more text' >>served/file
echo "grown: info $(size), cat $(gio cat "$url/file" | wc -c), info $(size)"
rm served/file
echo "deleted: info $(size), cat $(gio cat "$url/file" >said 2>&1 && echo succeeds || echo fails), info $(size)"
gio list "$url" >listed
echo "listed: info $(size)"
END
said=$(GIO_USE_VOLUME_MONITOR=unix inside env GIO_USE_VOLUME_MONITOR=unix dbus-run-session -- bash session.sh "$port" 2>stderr || true)
expect 'what gio says' 'at first: info 5, cat 5
grown: info 5, cat 20, info 5
deleted: info 5, cat fails, info 5
listed: info none' "$said"
