# bash completion for asprof-agent: the program itself tells its words.
_asprof_agent()
{
	local word=${COMP_WORDS[COMP_CWORD]} name=${COMP_WORDS[1]}

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --words 2>/dev/null)" -- "$word")
	elif [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --words "$name" 2>/dev/null)" -- "$word")
	elif [ "$name" = run ]; then
		mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}
complete -o filenames -F _asprof_agent asprof-agent
