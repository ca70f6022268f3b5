# Completion of ftpfetch for bash: ftpfetch --help=bash
_ftpfetch_no_files() { compopt +o default 2>/dev/null || :; } # which bash 3.2 cannot
_ftpfetch() {
	local IFS=$' \t\n' cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} equals=
	COMPREPLY=()
	if [[ $cur == = ]]; then
		cur= equals=1
	elif [[ $prev == = && $COMP_CWORD -gt 1 ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]} equals=1
	fi
	case $prev in
LINES	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W 'FLAGS' -- "$cur"))
	fi
}
complete -o default -F _ftpfetch ftpfetch
