# Completion of ftpfetch for bash: ftpfetch --help=bash
_ftpfetch() {
	local IFS=$' \t\n' cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	COMPREPLY=()
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = && $COMP_CWORD -gt 1 ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	case $prev in
LINES	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W 'FLAGS' -- "$cur"))
	fi
}
complete -o default -F _ftpfetch ftpfetch
