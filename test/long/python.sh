#!/bin/bash
# py-spy and the agent, at the same time, give the same shares for a program of known shape. Real programs behave as
# without the agent, and their functions have names: gunicorn with flask under load, pip, sphinx, ansible. Missing
# ones are omitted.
#
#   PYTHON=/opt/venv/bin/python3  this interpreter, with the programs in its directory
#   TRY="shares flask pip sphinx ansible"  only these
. "$(dirname "$0")/../system/agent.inc"
. test/long/scripts.inc
python=${PYTHON:-$(command -v python3)}
have "${python:-python3}" curl
bin=$(dirname "$python")
cd "$work" || exit 1
tried=${TRY:-shares flask pip sphinx ansible}
left=

# wanted NAME [MODULE...]: it is selected, and these are installed.
wanted() {
	[[ " $tried " == *" $1 "* ]] || return 1
	local name=$1
	shift
	for module in "$@"; do
		"$python" -c "import $module" 2>/dev/null || {
			left="$left $name ($module)"
			return 1
		}
	done
}

shares() {
	cat >shares.py <<-'P'
		# In random order: samples come with the clock's ticks, and a regular order would be in step with
		# them.
		import random, time

		weights = [20, 16, 13, 11, 9, 8, 7, 6, 5, 2, 2, 1]
		space = {}
		for i in range(len(weights)):
		    exec("def work_%d(x):\n    for i in range(2000):\n        x = (x * 31 + i) & 0xffff\n    return x\n" % i, space)
		works = [space["work_%d" % i] for i in range(len(weights))]
		chosen = random.Random(1)
		time.sleep(2)  # until it is looked at
		until = time.process_time() + 10
		x = 0
		while time.process_time() < until:
		    for work in chosen.choices(works, weights, k=50):
		        x = work(x)
	P
	by_us shares "$python" shares.py &
	program=$!
	sleep 1
	watched=$(pgrep -P $program || echo $program)
	"$spy" record --rate 100 --format raw --output theirs --duration 600 --pid "$watched" >said 2>&1 ||
		fail "py-spy: $(cat said)"
	wait $program || fail "shares: status $?"
	"$agent" collapsed --cpu --frames script shares >stacks || fail "shares: nothing was sampled"
	/usr/bin/python3 - <<-'P' || fail "shares: they differ"
		import collections, re, sys

		def read(file):
		    counts = collections.Counter()
		    for line in open(file):
		        stack, n = line.rsplit(" ", 1)
		        if "work_" in stack:
		            counts[re.findall(r"work_\d+", stack)[-1]] += int(n)
		    return sum(counts.values()), {name: 100 * n / sum(counts.values()) for name, n in counts.items()}

		(n, ours), (m, theirs) = read("stacks"), read("theirs")
		worst = max(abs(ours.get(name, 0) - theirs.get(name, 0)) for name in set(ours) | set(theirs))
		print("py-spy: %d samples, ours %d: shares differ by %.1f points at most" % (m, n, worst))
		for name in sorted(theirs, key=theirs.get, reverse=True):
		    print("  %-8s %5.1f %5.1f" % (name, theirs[name], ours.get(name, 0)))
		# py-spy has a thousand samples: one point is one deviation of the largest share.
		sys.exit(m < 500 or n < 5000 or worst > 3)
	P
}

flask() {
	cat >app.py <<-'P'
		import flask

		app = flask.Flask(__name__)
		rows = [{"id": i, "name": "row %d" % i} for i in range(300)]

		def ranked(n):
		    return sorted(({**row, "rank": row["id"] * n % 301} for row in rows), key=lambda row: row["rank"])

		@app.get("/ranked/<int:n>")
		def answers_ranked(n):
		    return flask.jsonify(ranked(n))
	P
	for how in bare preloaded; do
		set -- "$bin/gunicorn" --workers 2 --bind unix:"$work/$how.socket" app:app
		if [ $how = bare ]; then "$@" >err 2>&1 & else by_us "$work/flask" "$@" >err 2>&1 & fi
		server=$!
		for _ in $(seq 600); do
			[ -S "$work/$how.socket" ] && break
			sleep 0.1
		done
		seq 1200 | sed 's|.*|url=http://localhost/ranked/&|' |
			curl -sS --unix-socket "$work/$how.socket" -K - >"answers.$how" || fail "flask, $how: $(cat err)"
		if [ $how = bare ]; then kill $server; else kill "$(pgrep -P $server || echo $server)"; fi
		wait $server || fail "gunicorn, $how: status $?: $(cat err)"
		! grep -i 'traceback\|asprof-agent' err || fail "gunicorn, $how: $(cat err)"
	done
	cmp -s answers.bare answers.preloaded || fail "flask: other answers"
	names "$work/flask" 'ranked[^ ]* [(]app.py:[0-9]+[)]'
	names "$work/flask" 'Flask[.a-z_]* [(]app.py:[0-9]+[)] \[flask/app.py\]'
}

# both NAME COMMAND...: its output and status are the same, except for numbers.
both() {
	local name=$1
	shift
	"$@" >"$name.bare" 2>&1 </dev/null || fail "$name: $(cat "$name.bare")"
	by_us "$work/$name" "$@" >"$name.preloaded" 2>&1 </dev/null || fail "$name: status $?: $(cat "$name.preloaded")"
	diff <(sed 's/[0-9.]\{1,\}//g' "$name.bare") <(sed 's/[0-9.]\{1,\}//g' "$name.preloaded") >differs ||
		fail "$name says something else: $(cat differs)"
}

sphinx() {
	mkdir -p docs
	echo 'project = "x"; extensions = ["sphinx.ext.autodoc"]' >docs/conf.py
	for i in $(seq 30); do
		printf 'Page %d\n========\n\n.. automodule:: textwrap\n   :members:\n\n.. code-block:: python\n\n   def f(x):\n       return %d\n' "$i" "$i"
	done | awk '/^Page/ { n++ } { print > ("docs/page" n ".rst") }'
	printf 'Index\n=====\n\n.. toctree::\n   :glob:\n\n   page*\n' >docs/index.rst
	both sphinx "$python" -m sphinx -E -a -q docs "$work/html"
	names "$work/sphinx" '[(][a-z_]+[.]py:[0-9]+[)] \[(sphinx|docutils|parsers|util)/'
}

spy=$bin/py-spy
if [[ " $tried " == *" shares "* ]]; then
	if [ -x "$spy" ]; then shares; else left="$left shares (py-spy)"; fi
fi
! wanted flask flask gunicorn || flask
if wanted pip pip; then
	both pip "$python" -m pip --disable-pip-version-check list
	names "$work/pip" '[(][a-z_]+[.]py:[0-9]+[)] \[[a-z_]*(pip|_internal|cli|metadata|commands)'
fi
! wanted sphinx sphinx || sphinx
if wanted ansible ansible; then
	printf -- '- hosts: localhost\n  connection: local\n  gather_facts: no\n  tasks:\n  - debug: msg="{{ item * 2 }}"\n    loop: [1, 2, 3]\n' >play.yml
	both ansible "$bin/ansible-playbook" -i localhost, play.yml
	names "$work/ansible" '[(][a-z_]+[.]py:[0-9]+[)] \[(ansible|playbook|template|executor|plugins|vars)/'
fi
[ -z "$left" ] || echo "left out:$left"
