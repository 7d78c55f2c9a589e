#!/bin/sh
# top --base and top --by: each column is what a separate call prints for that part.
. "$(dirname "$0")/agent.inc"
have python3

# Uploads of two hosts, and one without a host.
python3 - "$work" <<'END'
import json, os, sys, zipfile
work = sys.argv[1]
for name, jfr, host, version in (('a', 'native', 'alpha', '7'), ('b', 'chunks', 'beta', '8'),
                                 ('c', 'native', 'beta', '8'), ('d', 'java', None, None)):
    agent = {'executable': 'service', 'profiled_since': 1764448201123}
    if host:
        agent.update(hostname=host, tags={'version': version})
        if name == 'a':
            agent['tags']['team'] = 'blue'
    with zipfile.ZipFile(os.path.join(work, name + '.zip'), 'w') as out:
        out.write('test/fixtures/jfr/%s.jfr' % jfr, 'async_profiler_dump_0.jfr')
        out.writestr('metadata.json', json.dumps({'agent': agent}))
END
all="$work/a.zip $work/b.zip $work/c.zip $work/d.zip"

# json NAME ARGUMENTS…: write top's output to $work/NAME. By totals, because the recordings have different intervals.
json() {
	name=$1
	shift
	"$agent" top --json --total -n 0 "$@" >"$work/$name" || fail "top $*: status $?"
}

json whole $all
json alpha --host alpha $all
json beta --host beta $all
json java "$work/d.zip"
json by_host --by host $all
json by_version --by version $all
json by_tag --by tag $all
"$agent" top --tag 1764448201123 $all 2>&1 | grep -q 'no recording matches --tag' || fail 'profiled_since is a tag'
# By the names of uploads, of which one has no machine.
mkdir "$work/up"
cp "$work/a.zip" "$work/up/profile_web_shop_ec2_i-12__7_2026-11-21T02-10-00Z-0a1b2c3d.zip"
cp "$work/c.zip" "$work/up/profile_web_shop_unknown___7_2026-11-21T02-10-00Z-0a1b2c3e.zip"
cp "$work/b.zip" "$work/up/profile_cart_ec2_i-34__8_2026-11-21T02-10-30Z-0a1b2c3f.zip"
json by_group --by group "$work/up" "$work/d.zip"
json by_machine --by machine "$work/up"
json web --group '^web_shop$' "$work/up"
json cart --group '^cart$' "$work/up"
json i12 --machine '^i-12$' "$work/up"
json new "$work/b.zip"
json old "$work/a.zip"
json base "$work/b.zip" --base "$work/a.zip"
json early --to 1s "$work/a.zip"
json late --from 1s "$work/a.zip"
json times --from 1s --base-to 1s "$work/a.zip"
for metric in --wall --alloc --live; do
	json "new$metric" $metric "$work/b.zip"
	json "old$metric" $metric "$work/a.zip"
	json "base$metric" $metric "$work/b.zip" --base "$work/a.zip"
done
python3 - "$work" <<'END' || exit 1
import json, os, sys


def load(name):
    with open(os.path.join(sys.argv[1], name)) as file:
        return json.load(file)


def functions(top):
    return {(f['name'], f['module']): (f['self'], f['total']) for f in top['functions']}


def column(top, name):
    at = [c['name'] for c in top['columns']].index(name)
    cells = {(f['name'], f['module']): (f['self'][at], f['total'][at]) for f in top['functions']}
    return top['columns'][at], {name: cell for name, cell in cells.items() if cell != (0, 0)}


for table, columns in ((load('by_host'), (('all', 'whole'), ('alpha', 'alpha'), ('beta', 'beta'),
                                          ('(unknown)', 'java'))),
                       (load('by_version'), (('7', 'alpha'), ('8', 'beta'))),
                       (load('by_tag'), (('version=7,team=blue', 'alpha'), ('version=8', 'beta'),
                                         ('(unknown)', 'java')))):
    assert len(table['columns']) == 4, table['columns']
    weights = [c['weight'] for c in table['columns']]
    assert weights == sorted(weights, reverse=True) and weights[0] == sum(weights[1:]), weights
    for name, alone in columns:
        alone = load(alone)
        head, cells = column(table, name)
        assert head['weight'] == alone['weight'] and head['samples'] == alone['samples'], head
        assert cells == functions(alone), name

for table, columns in (('by_group', {'web_shop': 'web', 'cart': 'cart', '(unknown)': 'java'}),
                       ('by_machine', {'i-12': 'i12', 'i-34': 'cart', '(unknown)': None})):
    table = load(table)
    assert {c['name'] for c in table['columns']} == {'all'} | set(columns), table['columns']
    for name, alone in columns.items():
        if alone:
            assert column(table, name)[1] == functions(load(alone)), (name, alone)

for base, new, old in [('base', 'new', 'old'), ('times', 'late', 'early')] + [
        (name % metric, new % metric, old % metric) for metric in ('wall', 'alloc', 'live')
        for name, new, old in (('base--%s', 'new--%s', 'old--%s'),)]:
    base, new, old = load(base), load(new), load(old)
    assert base['weight'] == new['weight'] and base['base_weight'] == old['weight'], base
    assert base['unit'] == new['unit'] == old['unit']
    seen = functions(base)
    was = {(f['name'], f['module']): (f['base_self'], f['base_total']) for f in base['functions']}
    assert {k: v for k, v in seen.items() if v != (0, 0)} == functions(new)
    # Functions that vanished are included.
    assert {k: v for k, v in was.items() if v != (0, 0)} == functions(old)
    changes = [round(abs(f['self'] / (new['weight'] or 1) - f['base_self'] / (old['weight'] or 1)), 9)
               for f in base['functions']]
    assert all(a >= b - 2e-5 for a, b in zip(changes, changes[1:])), changes
END

# The table: the largest change first, and both shares.
"$agent" top -n 1 "$work/b.zip" --base "$work/a.zip" >"$work/text" || fail "status $?"
grep -Eq '^ +0.0% +73% +-73 .* burn_hot \[work\]$' "$work/text" || fail "$(cat "$work/text")"
"$agent" top -n 1 --by host $all >"$work/text" || fail "status $?"
grep -Eq '^ +all +.*beta +.*alpha' "$work/text" || fail "$(cat "$work/text")"
awk 'length > 120' "$work/text" | grep . && fail 'too wide'

# Many hosts do not fit into the table.
python3 - "$work" <<'END'
import json, os, sys, zipfile
for i in range(20):
    with zipfile.ZipFile(os.path.join(sys.argv[1], 'many%d.zip' % i), 'w') as out:
        out.write('test/fixtures/jfr/native.jfr', 'async_profiler_dump_0.jfr')
        out.writestr('metadata.json', json.dumps({'agent': {'hostname': 'host-%d' % i}}))
END
"$agent" top -n 1 --by host "$work"/many*.zip >"$work/text" || fail "status $?"
grep -q '^\.\.\. and 12 more of host (--json has all)' "$work/text" || fail "$(cat "$work/text")"
# Names are complete. On a narrow terminal they lose their common part, or are above the table.
cp "$work/a.zip" "$work/profile_svc_ec2_i-0001__77_2026-11-21T02-10-00Z-0badcafe.zip"
cp "$work/b.zip" "$work/profile_svc_ec2_i-0002__78_2026-11-21T02-10-00Z-0badcafe.zip"
"$agent" top -n 1 --by process "$work"/profile_*.zip >"$work/text" || fail "status $?"
grep -q 'by process: 2$' "$work/text" &&
	grep -Eq '^ +all +profile_svc_ec2_i-0002__78 +profile_svc_ec2_i-0001__77 ' "$work/text" || fail "$(cat "$work/text")"
cp test/fixtures/jfr/native.jfr "$work/pushed_11275_2026-11-21T02-10-00Z.jfr"
cp test/fixtures/jfr/native.jfr "$work/python3_11276_2026-11-21T02-10-00Z.jfr"
"$agent" top -n 1 "$work"/p[uy]*.jfr | sed -n 2p >"$work/text"
grep -Eqx '2 processes: 50% pushed_11275, 50% python3_11276' "$work/text" || fail "processes: $(cat "$work/text")"
"$agent" top -n 1 --by thread "$work/a.zip" 2>&1 >"$work/text" | grep -q "no sample has the label 'thread'; --threads" ||
	fail 'an unknown label is not reported'
# on_terminal COLUMNS FILE... : output on a terminal of that width
on_terminal() {
	columns=$1
	shift
	timeout 30 script -qec "stty cols $columns; PAGER=cat $agent top -n 1 --by process $*" /dev/null </dev/null | tr -d '\r' >"$work/text"
}
if command -v script >/dev/null; then
	on_terminal 60 "$work/profile_*.zip"
	grep -q 'by process: 2, without profile_svc_ec2_i-000$' "$work/text" &&
		grep -Eq '^ +all +2__78 +1__77 ' "$work/text" || fail "60 columns: $(cat "$work/text")"
	on_terminal 60 "$work/p[uy]*.jfr"
	grep -Eqx ' +[12]  pushed_11275' "$work/text" && grep -Eqx ' +[12]  python3_11276' "$work/text" &&
		grep -Eq '^ +all +1 +2 ' "$work/text" || fail "60 columns: $(cat "$work/text")"
	on_terminal 100 "$work/p[uy]*.jfr"
	grep -Eq '^ +all +pushed_11275 +python3_11276 ' "$work/text" || fail "100 columns: $(cat "$work/text")"
fi
json many --by host "$work"/many*.zip
grep -q '"host-19"' "$work/many" || fail 'JSON has not all'

"$agent" top --lock "$work/a.zip" --base "$work/a.zip" 2>&1 >"$work/text" |
	grep -q 'nothing to compare with' || fail 'an empty base is not told'

for wrong in '--by host --base x' '--by host --threads' '--base x --threads'; do
	"$agent" top "$work/a.zip" $wrong >"$work/text" 2>&1
	[ $? -eq 2 ] || fail "top $wrong: $(cat "$work/text")"
done
echo 'each column is what it is alone'
