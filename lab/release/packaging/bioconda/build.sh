#!/bin/bash
set -euo pipefail

# The source is an archive, hence the version. The containers that are made from this
# package have no certificate authorities, hence the tag.
export CGO_ENABLED=0
lab/release/packaging/prepare.sh
go build -trimpath -buildvcs=false -tags roots -ldflags "-s -w -X example.com/ftpfetch/cmd/internal/cli/config.release=v$PKG_VERSION" \
	-o "$PREFIX/bin/ftpfetch" ./cmd/ftpfetch
share() {
	mkdir -p "$PREFIX/share/$(dirname "$2")"
	install -m 644 "$1" "$PREFIX/share/$2"
}
share docs/ftpfetch.1 man/man1/ftpfetch.1
share .release/ftpfetch.bash bash-completion/completions/ftpfetch
share .release/_ftpfetch zsh/site-functions/_ftpfetch
share .release/ftpfetch.fish fish/vendor_completions.d/ftpfetch.fish
