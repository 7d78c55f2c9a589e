# fish completion for asprof-agent: the program itself tells its words.
function __asprof_agent_words
	set -l before (commandline -opc)
	asprof-agent --words $before[2..-1] 2>/dev/null
end
# Files are offered where the program has no other words than switches.
complete -c asprof-agent -n '__asprof_agent_words | string match -qv -- "-*"' -f
complete -c asprof-agent -a '(__asprof_agent_words)'
