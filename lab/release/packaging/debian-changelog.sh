#!/usr/bin/env bash
# Prints what Debian's policy (12.7, 4.4) requires besides the project's own changelog:
#
#   MAINTAINER='Name <address>' lab/release/packaging/debian-changelog.sh VERSION TIME
#
# TIME is the commit's, in seconds.
set -euo pipefail
cat <<END
ftpfetch ($1-1) unstable; urgency=medium

  * Release $1: see changelog.gz.

 -- $MAINTAINER  $(LC_ALL=C date -u -R -d "@$2")
END
