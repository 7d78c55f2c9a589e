#!/bin/bash
# Real programs do what they do bare, sampled with each allocator that is at hand behind us or
# before us; a program with a malloc of its own is recognised, and unharmed.
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

found=0
# The allocator's own name, or none.
allocators=none
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4 libtcmalloc.so.4 libmimalloc.so.2; do
	LD_PRELOAD=$name /bin/true 2>&1 | grep -q 'cannot be preloaded' || allocators="$allocators $name"
done

for program in sqlite3 python3 node; do
	command -v $program >/dev/null || continue
	found=$((found + 1))
	for allocator in $allocators; do
		[ $allocator = none ] && allocator=
		bare=$(LD_PRELOAD=$allocator program_$program 2>&1)
		status=$?
		for chain in "$lib $allocator" "$allocator $lib"; do
			for interval in 64k 0; do
				[ $program = node ] && [ $interval = 0 ] && continue
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

own=$(program mem_own) || exit 1
out=$(ASPROF_AGENT_NATIVE_MEM=0 preloaded "$own" 2>"$work/err") || fail "status $?: $(cat "$work/err")"
[ "$out" = "own 1" ] || fail "own malloc: $out"
grep -q "native memory: .*/mem_own has a malloc of its own" "$work/err" ||
	fail "own malloc is not recognised: $(cat "$work/err")"
[ $found -gt 0 ] || { echo "no program to try"; exit 77; }
