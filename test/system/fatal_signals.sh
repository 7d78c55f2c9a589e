#!/bin/bash
# A fatal signal first flushes the last report, and the status is the same. Children end at once.
. "$(dirname "$0")/interpose.inc"

interposers interpose_sampler
dies=$(program dies)

# Its standard output and its status, without bash's messages on a killed job.
run() {
	{ env "$@"; } >"$work/out" 2>"$work/err"
	echo "status $?" >>"$work/out"
} 2>/dev/null

for signal in 15 2 1 10 13 9; do
	for how in raise kill thread reset ignore fork vfork again-{raise,kill,tgkill,pthread_kill,sigqueue,sysv,vfork,default}; do
		case $signal$how in 9reset | 9again-*) continue ;; esac
		[ $signal$how = 9ignore ] && continue
		run "$dies" $how $signal
		mv "$work/out" "$work/bare"
		run LD_PRELOAD="$work/interpose_sampler.so" "$dies" $how $signal
		cmp "$work/bare" "$work/out" || fail "$how $signal: $(cat "$work/out")"

		told=$(sed -n 's/^\([a-z]*\): .* samples, .*, 0 claimed$/\1/p' "$work/err" | xargs)
		case $how,$signal in
		ignore,* | fork,* | vfork,*) expected=exit ;;
		*,9) expected= ;;
		*) expected=signal ;;
		esac
		[ "$told" = "$expected" ] || fail "$how $signal: told '$told'"
	done
done
