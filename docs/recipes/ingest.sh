#!/usr/bin/env bash
# Fetches the new files of a directory on a server, and gives each to a program:
#
#   ingest.sh ftp://ftp.example.org/outgoing/ /var/spool/ingest
set -euo pipefail

# The work of this example is to test the file and to move it away.
export DONE=${DONE:-$PWD/loaded}
mkdir -p "$DONE"
load='gzip -t "$1" && mv "$1" "$DONE/"'

ftpfetch -q -r -N --once --accept '*.gz' -d "$2" --exec "$load" "$1"
