#!/bin/bash
# Totals by stack are within 12% of the program's own numbers, which is four standard errors of the largest one; retained
# bytes are within 8%; no freed memory is retained. The program only allocates, so the limit for each thread applies. On
# a busy machine events are lost, and the others count for them: then the standard errors are larger, and the limit is 16%.
# ROUNDS=20 takes about a minute.
. "$(dirname "$0")/mem.inc"
have jfr python3

totals=$(program mem_totals) || exit 1
export ASPROF_AGENT_NATIVE_MEM=64k
preloaded "$totals" "${ROUNDS:-1}" >"$work/said" 2>"$work/err" || fail "status $?: $(cat "$work/err")"
[ ! -s "$work/err" ] || fail "$(cat "$work/err")"
jfr print --json --stack-depth 64 --events asprof.RetainedHeap,asprof.Losses \
	"$work"/out/*.jfr >"$work/json" || fail "unreadable recording"
python3 - "$work/said" "$work/json" <<'PYTHON'
import json, sys
found, limit = {}, 12
for e in json.load(open(sys.argv[2]))["recording"]["events"]:
    v = e["values"]
    if e["type"] == "asprof.Losses":
        lost = v["ringFull"] + v["tableEvictions"]
        print("lost", lost)
        limit = 16 if lost else limit
        continue
    top = v["stackTrace"]["frames"][0]["method"]["name"]
    a, r = found.get(top, (0, 0))
    found[top] = a + v["allocatedBytes"], r + v["bytes"]
bad = False
for line in open(sys.argv[1]):
    name, allocated, retained = line.split()
    a, r = found.get(name, (0, 0))
    off = 100 * (a / int(allocated) - 1) if allocated != "-" else 0
    kept_off = 100 * (r / int(retained) - 1) if int(retained) else float(r)
    print(f"{name}: allocated {a} ({off:+.2f}%), retained {r} ({kept_off:+.2f}{'%' if int(retained) else ''})")
    bad |= abs(off) > limit or abs(kept_off) > (8 if int(retained) else 0)
sys.exit(bad)
PYTHON
