# fish completion for asprof-agent: the program itself tells its words.
complete -c asprof-agent -n __fish_use_subcommand -f -a '(asprof-agent --words 2>/dev/null)'
complete -c asprof-agent -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' \
	-a '(asprof-agent --words (commandline -opc)[2] 2>/dev/null)'
