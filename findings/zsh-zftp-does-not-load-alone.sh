#!/usr/bin/env bash
# zsh has an FTP client, the module zsh/zftp, which its manual tells to load with "zmodload zsh/zftp".
#
# Guess: that loads it, as it loads every other module of the package.
# Seen (Debian's zsh 5.9-4+b15): "failed to load module `zsh/zftp': .../zftp.so: undefined symbol: freehostent", status 1.
# With "zmodload zsh/net/tcp" before it, it loads: a function that it needs is in that module, and Debian's zftp.so does
# not name the other module. The two in the other order fail.
# Why it matters: a script that uses the shell's own client ends at its first line, on a machine where all is installed.
source "$(dirname "$0")/kit/kit.bash"
debian zsh=5.9-4+b15

attempt zsh -fc 'zmodload zsh/zftp'
expect 'zsh/zftp' 'exit code 1 after' "$got"
expect 'its message' 'undefined symbol: freehostent' "$(grep -o 'undefined symbol: .*' stderr)"
attempt zsh -fc 'zmodload zsh/net/tcp && zmodload zsh/zftp && zftp params anonymous x && zftp params'
expect 'zsh/net/tcp and zsh/zftp' 'exit code 0 after' "$got"
for module in zsh/net/tcp zsh/net/socket zsh/datetime zsh/mapfile zsh/zselect; do
	attempt zsh -fc "zmodload $module"
	expect "$module" 'exit code 0 after' "$got"
done
