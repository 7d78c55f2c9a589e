#!/bin/sh
# Progress is shown on a terminal, after a second, and only there. Colours and the pager are only for terminals. A
# flame graph is not written to a terminal. A mistyped command gets a suggestion. Needs script (package bsdutils),
# which makes a terminal.
. "$(dirname "$0")/agent.inc"
have script

# A pipe without data for a while replaces a recording that takes long to read. read_slowly SECONDS COMMAND... : the
# output is in $work/out.
read_slowly() {
	seconds=$1
	shift
	mkfifo "$work/pipe.jfr"
	{
		sleep "$seconds"
		cat test/fixtures/jfr/native.jfr
	} >"$work/pipe.jfr" &
	timeout 30 "$@" >"$work/out" 2>&1 </dev/null
	wait $!
	rm "$work/pipe.jfr"
}

read_slowly 1.3 script -qec "$agent summary $work/pipe.jfr >/dev/null" /dev/null
grep -q 'MB read, file 1 of 1' "$work/out" || fail "no progress on a terminal: $(cat "$work/out")"
# The progress line is erased again.
tail -c 4 "$work/out" | grep -q '\[K' || fail 'the progress stays'
timeout 30 script -qec "$agent summary test/fixtures/jfr/native.jfr >/dev/null" /dev/null \
	>"$work/out" 2>&1 </dev/null
[ -s "$work/out" ] && fail "said of what is read at once: $(cat "$work/out")"
read_slowly 1.3 "$agent" summary "$work/pipe.jfr"
grep -q 'MB read' "$work/out" && fail 'progress where there is no terminal'
grep -q '^Span' "$work/out" || fail "no summary: $(cat "$work/out")"

timeout 30 script -qec "$agent flamegraph test/fixtures/jfr/native.jfr" /dev/null >"$work/out" 2>&1 </dev/null
[ $? = 2 ] && grep -q 'is a terminal.*-o flame.html' "$work/out" && ! grep -q '<html' "$work/out" ||
	fail "a flame graph on a terminal: $(head -c 300 "$work/out")"
"$agent" flamegraph test/fixtures/jfr/native.jfr | grep -q '<html' || fail 'no flame graph in a pipe'

# on_terminal COMMAND: the terminal's output is in $work/out.
on_terminal() {
	timeout 30 script -qec "$*" /dev/null >"$work/out" 2>&1 </dev/null || fail "$*: status $?: $(cat "$work/out")"
}
profile=test/fixtures/jfr/native.jfr
escape=$(printf '\033\\[')
export TERM=xterm PAGER=cat
on_terminal "$agent top $profile"
grep -q "$escape.*burn_hot" "$work/out" || fail "no colours on a terminal: $(cat "$work/out")"
on_terminal "NO_COLOR=1 $agent top $profile"
grep -q "$escape" "$work/out" && fail 'colours with NO_COLOR'
on_terminal "TERM=dumb $agent top $profile"
grep -q "$escape" "$work/out" && fail 'colours where TERM is dumb'
"$agent" top "$profile" | grep -q "$escape" && fail 'colours in a pipe'

# The pager gets the terminal's output, as wide as the terminal, and messages; the command waits for it.
cat >"$work/pager" <<'END'
#!/bin/sh
cat >"$1"
sleep 0.2
echo left >>"$1"
END
chmod +x "$work/pager"
on_terminal "stty cols 60; PAGER='$work/pager $work/paged' $agent top --lock --cpu -n 0 $profile"
grep -q "$escape.*burn_hot" "$work/paged" && grep -qx left "$work/paged" && ! grep -q burn_hot "$work/out" ||
	fail "the pager has: $(cat "$work/paged"); the terminal: $(cat "$work/out")"
awk '{ gsub(/\033\[[0-9]*m/, "") } length > 110 { bad = 1 } END { exit bad }' "$work/paged" ||
	fail "not as wide as the terminal: $(cat "$work/paged")"
timeout 30 script -qec "PAGER='$work/pager $work/paged' $agent top --lock $profile" /dev/null >"$work/out" 2>&1 </dev/null
grep -q 'no samples of locks' "$work/paged" || fail "messages are not in the pager: $(cat "$work/paged" "$work/out")"
on_terminal "PAGER=$work/no/such $agent top $profile"
grep -q burn_hot "$work/out" || fail 'nothing is shown without the pager'
# The pager has no preload and no settings of the agent. `run` shows its table without it.
cat >"$work/lists" <<END
#!/bin/sh
cat >"$work/paged"
env >"$work/environment"
END
chmod +x "$work/lists"
on_terminal "PAGER=$work/lists LD_PRELOAD=$preload ASPROF_AGENT_ENABLED=off KEPT=1 $agent top $profile"
grep -qx KEPT=1 "$work/environment" && ! grep -q '^LD_PRELOAD=\|^ASPROF_AGENT_' "$work/environment" ||
	fail "the environment of the pager: $(cat "$work/environment")"
rm "$work/environment" "$work/paged"
on_terminal "PAGER=$work/lists ASPROF_AGENT_START_DELAY=0 $agent run -o $work/run -- sleep 0.3"
grep -q "continue with" "$work/out" && [ ! -e "$work/environment" ] || fail "run: $(cat "$work/out")"
PAGER="$work/pager $work/paged" "$agent" top "$profile" | grep -q burn_hot && [ ! -e "$work/paged" ] || fail 'a pager in a pipe'

"$agent" tpo >"$work/out" 2>&1
[ $? = 2 ] && [ "$(cat "$work/out")" = "asprof-agent: no command 'tpo'; did you mean \`top\`?" ] ||
	fail "no suggestion: $(cat "$work/out")"
"$agent" xyzzy 2>&1 | grep -q '^  top ' || fail 'no list of commands'
echo 'ok'
