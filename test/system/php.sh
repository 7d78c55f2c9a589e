#!/bin/bash
# PHP functions are in the stacks where the interpreter runs them, between native functions and with their lines: in
# samples of CPU time, wall-clock time and allocations, on the command line and in FPM's workers.
#
#   PHPS="php8.2 …"  these interpreters (default: php)
. "$(dirname "$0")/frames.inc"
export comment=//
source=test/programs/shape.php
all_frames

# frame FUNCTION COMMENT: its form in a stack, as a pattern.
frame() {
	name=${1//\\/\\\\}
	name=${name//\{/[{]}
	name=${name//\}/[\}]}
	echo "$name [(]shape.php:$(line "$2")[)]"
}

# burns FUNCTION COMMENT [AT_LEAST]: it is called at COMMENT.
burns() {
	seen "$1" "(^|;)$(frame "$1" "$2");(.*;)?burn [(]shape.php:[0-9]+[)]" "${3:-20}"
}

try() {
	rm -rf "$work/out"
	out=$(profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=20ms \
		"$tried" "$@" "$source" 300000 2>"$work/err") || fail "$tried: status $?: $(cat "$work/err")"
	[ "$out" = "ok 30" ] || fail "$tried: its output is: $out"
	[ ! -s "$work/err" ] || fail "$tried: on standard error: $(cat "$work/err")"

	stacks --cpu
	# (At its start and end PHP runs no function.)
	left=$(samples 'execute_ex|\[unknown\]|\[frame table' <"$work/stacks")
	all=$(samples '[{]main[}]' <"$work/stacks")
	[ $((left * 100)) -le "$all" ] || fail "$tried: $left of $all samples without: $(
		grep -E 'execute_ex|\[unknown\]|\[frame table' "$work/stacks")"
	orphans=$(samples '(^|[^}];)burn ' < <(grep -v ';burn ' "$work/stacks"))
	[ "$orphans" = 0 ] || fail "$tried: burn without who called it"

	three_to_one 25
	burns three 'three burns' 100
	burns one 'one burns'
	burns deeper 'at the bottom'
	burns 'Shop\Counter::sell' sells
	burns 'Shop\Counter::__destruct' 'clears up'
	burns counts counts
	burns '[^;]*{closure[^;]*}' 'in a closure'
	seen include "[{]main[}] [(]shape.php:$(line includes)[)];[{]main[}] [(]shape_part.php:2[)];burn " 20
	seen eval "$(frame '{main}' 'calls the new function');made_[0-9]+.burns [(]shape.php[^;]*[)];burn " 20

	# A recursion of sixty calls has sixty frames.
	sixty_deep deeper

	# Each function has only its own lines.
	first=$(line 'burn begins') last=$(line 'burn ends')
	wrong=$(grep -oE '(^|;)burn [(]shape.php:[0-9]+' "$work/stacks" | grep -oE '[0-9]+$' |
		awk -v first="$first" -v last="$last" '$1 < first || $1 > last' | sort -u)
	[ -z "$wrong" ] || fail "$tried: burn has no lines $wrong"
}

# Functions that native code calls are above it. This is not so if PHP compiled its own code, and the end of the
# native stack is unknown.
try_order() {
	seen sort "$(frame '{main}' sorts);usort;([^;{]+;)+$(frame 'Shop\Counter::price' 'asks the price');" 20
	seen generator "$(frame '{main}' 'adds up');([^;{]+;)+$(frame counts counts);" 20
	seen main '^_start;.*[{]main[}] .*;three ' 100
	if "$tried" -r 'exit((int)!class_exists("Fiber"));'; then
		seen fiber "$(frame '{main}' 'starts a fiber');Fiber::start;(.*;)?$(
			frame '[^;]*{closure[^;]*}' 'in a fiber');burn " 20
	fi

	stacks --wall
	seen nap "$(frame '{main}' naps);usleep;"

	# Memory that PHP gets from the C library, with its own allocator off.
	rm -rf "$work/out"
	USE_ZEND_ALLOC=0 profiled "$work/out" builtin CPU_INTERVAL=off WALL_INTERVAL=off NATIVE_MEM=64k \
		"$tried" "$source" >"$work/said" || fail "$tried: status $?"
	"$agent" collapsed --alloc --lines "$work/out" >"$work/stacks" || fail "$tried: no stacks"
	seen allocations "$(frame hoards hoards);str_repeat;" 20
}

for tried in ${PHPS:-php}; do
	have "$tried"
	"$tried" -r 'exit((int)(PHP_VERSION_ID < 70400 || PHP_ZTS));' ||
		skip "$("$tried" --version | head -n 1) has no such frames"
	again try
	try_order
	# If there is a JIT compiler: code without names.
	if "$tried" -d zend_extension=opcache -d opcache.enable_cli=1 -d opcache.jit_buffer_size=16M \
		-d opcache.jit=tracing -r 'exit((int)!(opcache_get_status()["jit"]["on"] ?? false));' \
		2>/dev/null; then
		again try -d opcache.enable_cli=1 -d opcache.jit_buffer_size=16M -d opcache.jit=tracing
	fi
done

# FPM's workers are forked, and run as another user. The functions of a request are freed at its end, and those of the
# next one may have the same addresses.
try_workers() {
	have python3
	rm -rf "$work/out" "$work/site"
	mkdir -m 1777 "$work/out"
	mkdir -m 755 "$work/site"
	for i in $(seq 20); do
		cat >"$work/site/page$i.php" <<-EOF
			<?php
			class Page$i {
			    public static function shows() {
			        \$end = self::spent() + 30000;
			        while (self::spent() < \$end);
			    }
			    private static function spent() {
			        \$usage = getrusage();
			        return \$usage['ru_utime.tv_sec'] * 1000000 + \$usage['ru_utime.tv_usec'];
			    }
			}
			Page$i::shows();
			echo 'page $i';
		EOF
	done
	{
		echo '[global]'
		echo 'error_log = /dev/null'
		echo "pid = $work/fpm.pid"
		echo 'process_control_timeout = 60s' # for their last reports
		echo '[www]'
		[ "$(id -u)" != 0 ] || printf 'user = nobody\nlisten.mode = 0666\n'
		echo "listen = $work/fpm.sock"
		printf 'pm = static\npm.max_children = 2\n'
	} >"$work/fpm.conf"
	profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off \
		"$fpm" -F -y "$work/fpm.conf" >"$work/said" 2>&1 &
	served=$!
	python3 test/programs/fastcgi.py "$work/fpm.sock" "$work/site"/page{1..20}.php >"$work/pages"
	kill -QUIT "$(cat "$work/fpm.pid")"
	wait "$served" || fail "$fpm: status $?: $(cat "$work/said")"
	[ "$(cat "$work/pages")" = "$(seq -f 'page %g' 20)" ] || fail "$fpm: its pages: $(cat "$work/pages")"
	stacks --cpu
	for i in $(seq 2 20); do # (during the first one, the agent may not have started in its worker)
		seen "page $i" "[{]main[}] [(]page$i.php:12[)];Page$i::shows [(]page$i.php:[45][)]"
	done
	wrong=$(grep -oE 'Page[0-9]+::shows [(]page[0-9]+' "$work/stacks" | tr -dc '0-9 \n' |
		awk '$1 != $2' | sort -u)
	[ -z "$wrong" ] || fail "$fpm: pages of other files: $wrong"
}

fpm=${PHP_FPM:-$(command -v php-fpm php-fpm8.2 php-fpm8.4 /usr/sbin/php-fpm* | head -n 1)}
if [ -n "$fpm" ]; then
	for_everybody
	php=$fpm
	again try_workers
	php=${PHPS:-php} php=${php##* }
fi

# The interpreter's C functions only, on request.
as_it_is execute_ex "$tried" "$source"
