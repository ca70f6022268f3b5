# gio.sh URL: mounts and reads the URL.
gio mount -a "$1"
exec gio cat "$1"
