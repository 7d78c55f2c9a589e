#compdef asprof-agent
# zsh completion for asprof-agent: the program itself tells its words.
local -a told
told=(${(f)"$($words[1] --words ${words[2,CURRENT-1]} 2>/dev/null)"})
if [[ $words[CURRENT] == -* ]]; then
	compadd -- ${(M)told:#-*}
elif [[ -n ${told:#-*} ]]; then
	compadd -S '' -- ${(M)${told:#-*}:#*=}
	compadd -- ${${told:#-*}:#*=}
elif [[ $words[2] == run ]]; then
	_command_names -e || _files
else
	_files
fi
