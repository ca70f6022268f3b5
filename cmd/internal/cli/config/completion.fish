# Completion of ftpfetch for fish: ftpfetch --help=fish
# It passes the line on standard input: it may hold a password, which an argument would show.
complete -c ftpfetch -f
LINEScomplete -c ftpfetch -n 'string match -q "*://*/*" -- (commandline -ct)' -a '(commandline -cp | ftpfetch --complete 2>/dev/null)'
