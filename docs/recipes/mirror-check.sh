#!/usr/bin/env bash
# Mirrors a tree, and then compares the mirror with the server:
#
#   mirror-check.sh ftp://ftp.example.org/pub/ tree
#
# It prints nothing if both are the same. Add --verify to the second command if
# the server has digests of all files.
set -euo pipefail
ftpfetch -q -r -N -d "$2" "$1"

# What is only here is printed too: "ftpfetch -r -N --delete" deletes what came
# from the server and is no longer there.
code=0
found=$(ftpfetch -q -r --check -d "$2" "$1") || code=$?
if [ "$code" -ne 0 ]; then # 80: something differs
	printf '%s\n' "$found"
fi
exit "$code"
