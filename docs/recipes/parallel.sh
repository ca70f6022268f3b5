#!/usr/bin/env bash
# Fetches each URL of a list and works on the file as soon as it is there:
#
#   parallel.sh urls.txt
set -euo pipefail
mkdir -p data

# The work of this example is to test the file. It also runs again for a file
# that was fetched before, if it failed.
parallel --jobs 8 --retries 2 --joblog jobs.log --resume-failed \
	'ftpfetch -q --per-host 4 --shared --no-clobber -o data/{/} {} && gzip -t data/{/}' :::: "$1"
