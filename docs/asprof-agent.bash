# bash completion for asprof-agent: the program itself tells its words.
_asprof_agent()
{
	local word=${COMP_WORDS[COMP_CWORD]} name=${COMP_WORDS[1]} words

	COMPREPLY=()
	words=$("${COMP_WORDS[0]}" --words "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
	if [[ $word == -* ]]; then
		words=$(grep -e ^- <<<"$words")
	else
		words=$(grep -v -e ^- <<<"$words")
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	[[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
	if [[ -n $words || $word == -* ]]; then
		return
	elif [ "$name" = run ]; then
		mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}
complete -o filenames -F _asprof_agent asprof-agent
