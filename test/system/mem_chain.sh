#!/bin/bash
# Real programs behave as without the agent while their memory is sampled, with each installed allocator preloaded
# before or after the agent. A program with its own malloc is recognized, and runs unharmed.
# Takes long.
. "$(dirname "$0")/mem.inc"
lib=$B/libasprof_preload.so

cat >"$work/a.sql" <<'SQL'
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
	insert into t select i, hex(i * 7919) || 'x' from n;
select count(*), sum(length(b)), max(b) from t;
select b, count(*) from t group by substr(b, 1, 2) order by 2 desc, 1 limit 5;
SQL
cat >"$work/a.py" <<'PYTHON'
d = {str(i): [i] * (i % 50) for i in range(50000)}
print(sum(len(v) for v in d.values()), len("".join(d)))
PYTHON
cat >"$work/a.js" <<'JS'
const m = new Map();
for (let i = 0; i < 100000; i++) m.set("k" + i, Buffer.alloc(i % 100));
let n = 0; for (const [k, v] of m) n += k.length + v.length;
console.log(n);
JS

program_sqlite3() { sqlite3 :memory: <"$work/a.sql"; }
program_python3() { PYTHONMALLOC=malloc python3 "$work/a.py"; }
program_node() { node "$work/a.js"; }

program_redis() {
	rm -f "$work/redis.sock"
	redis-server --port 0 --unixsocket "$work/redis.sock" --save '' >/dev/null &
	for _ in $(seq 600); do
		[ -S "$work/redis.sock" ] && break
		sleep 0.05
	done
	redis-cli -s "$work/redis.sock" <<-'REDIS'
		eval "for i = 1, 20000 do redis.call('set', 'k' .. i, string.rep(i, 1 + i % 50)) end" 0
		eval "for i = 1, 5000 do redis.call('hset', 'h', i, string.rep('x', i % 300)) end" 0
		eval "for i = 1, 5000 do redis.call('hdel', 'h', i * 2) end" 0
		eval "local n = 0; for _, v in ipairs(redis.call('hvals', 'h')) do n = n + #v end; return n" 0
		eval "local n = 0; for i = 1, 20000 do n = n + redis.call('strlen', 'k' .. i) end; return n" 0
		dbsize
		shutdown nosave
	REDIS
	wait $!
}

found=0
# The name of the allocator, or none.
allocators=none
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libtcmalloc.so.4 libmimalloc.so.2; do
	LD_PRELOAD=$name /bin/true 2>&1 | grep -q 'cannot be preloaded' || allocators="$allocators $name"
done

for program in sqlite3 python3 node redis; do
	command -v "${program/%redis/redis-server}" >/dev/null || continue
	found=$((found + 1))
	for allocator in $allocators; do
		[ $allocator = none ] && allocator=
		bare=$(LD_PRELOAD=$allocator program_$program 2>&1)
		status=$?
		chains=("$lib $allocator" "$allocator $lib")
		[ -n "$allocator" ] || chains=("$lib")
		for chain in "${chains[@]}"; do
			for interval in 64k 0; do
				[[ $program = [nr]* && $interval = 0 ]] && continue
				rm -rf "$work/out" && mkdir "$work/out"
				out=$(ASPROF_AGENT_LOG_FILE=$work/log ASPROF_AGENT_NATIVE_MEM=$interval \
					LD_PRELOAD=$chain program_$program 2>&1)
				got=$?
				[ $got = $status ] && [ "$out" = "$bare" ] ||
					fail "$program with '$chain' at $interval: status $got, '$out', not $status, '$bare'"
			done
		done
	done
done

# A non-PIE executable has an address of its own for the C library's malloc.
cat >"$work/fixed.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	void *(*volatile allocate)(size_t) = malloc;

	usleep(300000);
	free(allocate(100));
	return 0;
}
C
${CC:-cc} -no-pie -fno-pie -o "$work/fixed" "$work/fixed.c" || exit 1
ASPROF_AGENT_NATIVE_MEM=0 preloaded "$work/fixed" 2>"$work/err" && [ ! -s "$work/err" ] ||
	fail "an executable at a fixed address: $(cat "$work/err")"

own=$(program mem_own) || exit 1
out=$(ASPROF_AGENT_NATIVE_MEM=0 preloaded "$own" 2>"$work/err") || fail "status $?: $(cat "$work/err")"
[ "$out" = "own 1" ] || fail "own malloc: $out"
grep -q "native memory: .*/mem_own has its own malloc" "$work/err" ||
	fail "own malloc is not recognised: $(cat "$work/err")"
[ $found -gt 0 ] || skip "no program to try"
