#compdef ftpfetch
# Completion of ftpfetch for zsh: ftpfetch --help=zsh
# It passes the line on standard input: it may hold a password, which an argument would show.
_ftpfetch_names() {
	local -a names
	names=(${(f)"$(print -rn -- "ftpfetch ${(j: :)words[2,CURRENT-1]} $PREFIX" | ftpfetch --complete 2>/dev/null)"})
	if (( $#names )); then
		compadd -Q -S '' -a names
	else
		_urls
	fi
}
_arguments -s -S \
LINES	'*:URL:_ftpfetch_names'
