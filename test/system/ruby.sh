#!/bin/bash
# Ruby functions are in the stacks where the interpreter runs them, between native functions and with their lines: in
# samples of CPU time, wall-clock time and allocations.
#
#   RUBIES="/opt/ruby-3.4/bin/ruby …"  these interpreters (default: /usr/bin/ruby)
. "$(dirname "$0")/frames.inc"
export comment='#'
source=test/programs/shape.rb

# frame METHOD COMMENT: its form in a stack, as a pattern.
frame() {
	echo "$(sed -E 's/[][().]/[&]/g' <<<"$1") [(]shape.rb:$(line "$2")[)]"
}

# burns METHOD COMMENT [AT_LEAST]: it is called at COMMENT.
burns() {
	seen "$1" "(^|;)$(frame "$1" "$2");(.*;)?Object#burn [(]shape.rb:[0-9]+[)]" "${3:-20}"
}

try() {
	rm -rf "$work/out"
	out=$(profiled "$work/out" builtin PROCESS='ruby*' CPU_INTERVAL=1ms WALL_INTERVAL=20ms NATIVE_MEM=64k \
		"$tried" "$source" 2>"$work/err") || fail "$tried: status $?: $(cat "$work/err")"
	[ "$out" = "ok 200" ] || fail "$tried: its output is: $out"
	[ ! -s "$work/err" ] || fail "$tried: on standard error: $(cat "$work/err")"

	stacks --cpu
	# A computing method has its callers, up to the outermost.
	all=$(samples '(^|;)Object#burn ' <"$work/stacks")
	[ "$all" -ge 500 ] || fail "$tried: $all samples: $(head -c 4000 "$work/stacks")"
	callers='(block .*in )?(Object#(three|one|deeper|main|works|compares|fails|fetches|generates)'
	callers+='|Shop#sell|Shop[.]price|Shop::Till[.]counts|<main>|made_[0-9]+)|(rescue|ensure) in Object#fails'
	whole=$(samples "(^|;)($callers) [(](shape|made_[0-9]+).rb:[0-9]+[)];([^ ;]+;)*Object#burn " <"$work/stacks")
	[ $((whole * 100)) -ge $((all * 99)) ] ||
		fail "$tried: $whole of $all have a caller: $(grep -E '(^|;)Object#burn ' "$work/stacks" | head -c 4000)"
	left=$(samples '\[unknown\]|\[frame table' <"$work/stacks")
	[ "$left" = 0 ] || fail "$tried: $left of $all samples without a name"

	three_to_one 25 'Object#'
	burns Object#three 'three burns' 100
	burns Object#one 'one burns'
	burns Object#deeper 'at the bottom'
	burns Shop#sell sells
	burns Shop.price 'asks the price'
	burns 'block (2 levels) in Shop::Till.counts' counts
	burns 'block in Object#main' 'is yielded to'
	burns Object#compares compares
	burns 'rescue in Object#fails' rescues
	burns 'block in Object#fetches' fetches
	burns 'block in Object#generates' generates
	burns Object#works works
	burns 'block in <main>' 'is defined'

	# A recursion of sixty calls has sixty frames.
	sixty_deep Object#deeper

	# Methods that are C functions are between them, and so are functions that these call.
	seen sort ";$(frame Object#main sorts);Array#sort;(.*;)?$(frame 'block in Object#main' sorts);$(
		frame Object#compares compares);" 20
	seen each ";$(frame Object#main 'asks for prices');(.*;)?Enumerable#sort_by;(.*;)?$(
		frame 'block in Object#main' 'asks for prices');$(frame Shop.price 'asks the price');" 20
	seen native ';Object#burn [(]shape.rb:[0-9]+[)];Process[.]clock_gettime;(.*;)?clock_gettime( |;|$)'

	# Each method that was created and dropped has its own name and file.
	made=$(grep -oE 'Object#made [(][^;]*;(.*;)?made_([0-9]+) [(]made_[0-9]+[.]rb:2[)];' "$work/stacks" |
		sed -E 's/.*;(made_[0-9]+) [(](made_[0-9]+).*/\1 \2/' | sort -u)
	[ "$(wc -l <<<"$made")" -ge 5 ] || fail "$tried: of 50 methods that were made: $made"
	wrong=$(awk '$1 != $2' <<<"$made")
	[ -z "$wrong" ] || fail "$tried: in another's file: $wrong"
	first=$(grep -n '^def burn' "$source" | cut -d: -f1) last=$(line 'burn ends')
	wrong=$(grep -oE '(^|;)Object#burn [(]shape.rb:[0-9]+' "$work/stacks" | grep -oE '[0-9]+$' |
		awk -v first="$first" -v last="$last" '$1 < first || $1 > last' | sort -u)
	[ -z "$wrong" ] || fail "$tried: burn has no lines $wrong"

	# Each kind of frames alone.
	stacks --cpu --frames script
	seen script "^<main> [(]shape.rb:[0-9]+[)];Object#main [(]shape.rb:[0-9]+[)];$(frame Object#three 'three burns');"
	stacks --cpu --frames native
	[ "$(samples shape.rb <"$work/stacks")" = 0 ] || fail "$tried: methods: $(head -c 4000 "$work/stacks")"

	stacks --wall
	seen nap "$(frame Object#naps naps);"

	# Memory that methods allocate counts for them, too.
	"$agent" leaks --lines -n 5 --stack-depth 99 "$work/out" >"$work/leaks" || fail "$tried: no leaks"
	grep -qE "^ *$(frame 'block in Object#hoards' hoards) \[programs/shape.rb\]" "$work/leaks" ||
		fail "$tried: what leaks is not named: $(cat "$work/leaks")"
}

# The first half second of the program: methods have their classes, and C functions their names, before the agent's
# next regular scan. If Ruby itself starts late on a busy machine, the test cannot check that.
try_brief() {
	rm -rf "$work/out"
	profiled "$work/out" builtin PROCESS='ruby*' CPU_INTERVAL=1ms WALL_INTERVAL=off "$tried" --disable=gems -e '
		class Shop
		  def early
		    (1..1000).inject { |a, b| (a * 31 + b) % 65_521 }
		  end

		  def soon
		    (1..1000).inject { |a, b| (a * 31 + b) % 65_521 }
		  end
		end

		def passed # since the start of the process, or up to 10 ms more
		  begun = File.read("/proc/self/stat")[/.*\) (.*)/, 1].split[19].to_f / 100
		  Process.clock_gettime(Process::CLOCK_BOOTTIME) - begun
		end
		shop = Shop.new
		at_first = passed
		shop.early while passed < at_first + 0.1
		exit if passed > 0.35
		shop.soon while passed < 0.46
		puts "in time"' >"$work/said" || fail "$tried, brief: status $?"
	stacks --cpu --frames script
	all=$(samples 'soon' <"$work/stacks")
	[ -s "$work/said" ] && [ "$all" -ge 10 ] || return 0
	whole=$(samples '(^|;)Shop#soon [(]-e:8[)];Enumerable#inject' <"$work/stacks")
	[ $((whole * 2)) -ge "$all" ] || fail "$tried: a brief program: $whole of $all: $(cat "$work/stacks")"
}

for tried in ${RUBIES:-/usr/bin/ruby}; do
	have "$tried"
	case $("$tried" -e 'print RUBY_ENGINE, RUBY_VERSION') in
	ruby3.[1-4].*) ;;
	*) skip "$("$tried" --version) is not known" ;;
	esac
	again try
	again try_brief
done

# The interpreter's C functions only, on request.
as_it_is ruby_run_node PROCESS='ruby*' "$tried" "$source"
