#compdef asprof-agent
# zsh completion for asprof-agent: the program itself tells its words.
if ((CURRENT == 2)); then
	compadd -- ${(f)"$($words[1] --words 2>/dev/null)"}
elif [[ $words[CURRENT] == -* ]]; then
	compadd -- ${(f)"$($words[1] --words $words[2] 2>/dev/null)"}
elif [[ $words[2] == run ]]; then
	_command_names -e || _files
else
	_files
fi
