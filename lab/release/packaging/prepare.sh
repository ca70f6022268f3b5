#!/usr/bin/env bash
# Creates in .release what the archives, packages and recipes contain besides the binary.
# It runs on the build machine, whatever system the binaries are for.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
export LC_ALL=C

rm -rf .release
mkdir -p .release/data # the directory of the image, empty
go build -buildvcs=false -o .release/host ./cmd/ftpfetch
.release/host --help=bash >.release/ftpfetch.bash
.release/host --help=zsh >.release/_ftpfetch
.release/host --help=fish >.release/ftpfetch.fish
rm .release/host

# Debian's policy (12.1, 12.7) requires these to be compressed; -n leaves out the time.
gzip -9nc docs/ftpfetch.1 >.release/ftpfetch.1.gz
gzip -9nc CHANGELOG.md >.release/changelog.gz

# modules prints the path and the directory of each module in a binary.
modules() {
	local system
	for system in linux darwin windows freebsd; do
		CGO_ENABLED=0 GOOS=$system go list -tags roots -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}' ./cmd/ftpfetch
	done | sort -u
}

# The licences of the modules in the binaries require their text to be included.
{
	cat LICENSE
	printf '\n======== The Go standard library\n\n'
	cat "$(go env GOROOT)/LICENSE"
	modules | while read -r module dir; do
		printf '\n======== %s\n\n' "$module"
		if [ -e "$dir/License" ]; then # psx: the BSD terms; the GPL is an alternative
			sed '1,/^BSD 3-clause:/d; /^GPL v2.0:/,$d' "$dir/License"
		else
			cat "$dir"/LICENSE*
		fi
	done
} >.release/LICENSES.txt
