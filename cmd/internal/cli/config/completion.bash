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
	elif [[ ${COMP_LINE-} == *://*/* ]]; then # remote names; no argument shows what may hold a password
		local line=${COMP_LINE:0:COMP_POINT} name
		local before=${line##*[[:space:]]}
		before=${before%"$cur"} # which bash leaves alone, as it splits words at ":"
		while read -r name; do
			COMPREPLY+=("${name#"$before"}")
		done < <(printf '%s' "$line" | ftpfetch --complete 2>/dev/null)
		[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} != */ ]] || compopt -o nospace 2>/dev/null || :
	fi
}
complete -o default -F _ftpfetch ftpfetch
