#!/bin/bash
# Node's own profiler and the agent, at the same time, give the same shares for a program of known shape. Real
# programs behave as without the agent, and their functions have names: npm install, a server of express under load,
# builds by webpack and by vite.
#
#   NODE=/opt/node-22/bin/node  this executable, with npm in its directory
#   TRY="shares npm express webpack vite"  only these
. "$(dirname "$0")/../system/agent.inc"
. test/long/scripts.inc
node=${NODE:-$(command -v node)}
have "${node:-node}" python3
PATH=$(dirname "$node"):$PATH
cd "$work" || exit 1
tried=${TRY:-shares npm express webpack vite}

wanted() {
	[[ " $tried " == *" $1 "* ]]
}

# node_by_us DIR COMMAND...: profile only node, whatever program starts it.
node_by_us() {
	by_us "$1" PROCESS=node CHILDREN=on "${@:2}"
}

shares() {
	cat >shares.js <<-'J'
		// Each is too long to be taken into another by the compiler.
		const weights = [20, 16, 13, 11, 9, 8, 7, 6, 5, 2, 2, 1];
		const lines = weights.map((_, i) => {
			const body = Array.from({ length: 60 }, (_, j) => `x = (x * ${j * 2 + 3} + i + ${j}) | 0; if (x > 1e9) x ^= ${j + i};`);
			return `function work_${i}(n) { let x = n; for (let i = 0; i < n; i++) {\n${body.join("\n")}\n} return x; }`;
		});
		const works = new Function(lines.join("\n") + `return [${weights.map((_, i) => `work_${i}`)}];`)();
		// In no order: samples come with the clock's ticks, and would fall in step with what comes round.
		let sum = 0, seed = 1;
		for (let turn = 0; turn < 500000; turn++) {
			seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
			let at = seed % 100, i = 0;
			while (at >= weights[i])
				at -= weights[i++];
			sum ^= works[i](40);
		}
		console.log(sum);
	J
	node_by_us shares node --cpu-prof --cpu-prof-dir=theirs shares.js >said || fail "shares: status $?"
	"$agent" collapsed --cpu --frames script shares >stacks || fail "shares: nothing was sampled"
	python3 - <<-'P' || fail "shares: they differ"
		import collections, glob, json, re, sys

		def percents(counts):
		    whole = sum(counts.values())
		    return {name: 100 * n / whole for name, n in counts.items()}

		ours, theirs = collections.Counter(), collections.Counter()
		for line in open("stacks"):
		    stack, n = line.rsplit(" ", 1)
		    if "work_" in stack:
		        ours[re.findall(r"work_\d+", stack)[-1]] += int(n)
		profile = json.load(open(glob.glob("theirs/*.cpuprofile")[0]))
		names = {node["id"]: node["callFrame"]["functionName"] for node in profile["nodes"]}
		theirs.update(n for n in map(names.get, profile["samples"]) if n.startswith("work_"))
		n, ours, theirs = (sum(ours.values()), sum(theirs.values())), percents(ours), percents(theirs)
		worst = max(abs(ours.get(name, 0) - theirs.get(name, 0)) for name in set(ours) | set(theirs))
		print("node --cpu-prof: %d samples, ours %d: shares differ by %.1f points at most" % (n[1], n[0], worst))
		for name in sorted(theirs, key=theirs.get, reverse=True):
		    print("  %-8s %5.1f %5.1f" % (name, theirs[name], ours.get(name, 0)))
		# The clock ticks some hundred times a second: with samples every millisecond, four come together.
		sys.exit(min(n) < 5000 or worst > 3 or set(sorted(theirs, key=theirs.get)[-8:]) != set(sorted(ours, key=ours.get)[-8:]))
	P
}

install() {
	local dir=$1
	shift
	mkdir -p "$dir"
	(cd "$dir" && echo '{"private":true}' >package.json && "$@" npm install --no-audit --no-fund --no-update-notifier \
		--loglevel=error "$package" >said 2>err </dev/null) || {
		cat "$dir/said" "$dir/err"
		return 1
	}
}

tree() {
	(cd "$1/node_modules" && find . -type f ! -name .package-lock.json -print0 | sort -z | xargs -0 sha256sum | sha256sum)
}

npm_itself() {
	package=express@4
	install bare || skip "express cannot be installed here"
	install preloaded node_by_us "$work/npm" || fail "npm install: status $?"
	[ ! -s preloaded/err ] || fail "npm install, on standard error: $(cat preloaded/err)"
	[ "$(tree bare)" = "$(tree preloaded)" ] || fail "npm install has brought something else"
	names "$work/npm" '[(][a-z-]+[.]js:[0-9]+[)].*npm'
}

# The number of its responses, and so the CPU time of the functions that make them, is fixed.
express() {
	package=express@4
	[ -d bare ] || install bare || skip "express cannot be installed here"
	cat >bare/server.js <<-'J'
		const app = require("express")();
		const rows = Array.from({ length: 300 }, (_, i) => ({ id: i, name: "row " + i, tags: ["a" + i % 7] }));
		function ranked(n) { return rows.map((r) => ({ ...r, rank: (r.id * n) % 301 })).sort((a, b) => a.rank - b.rank); }
		app.get("/ranked/:n", function answersRanked(request, response) { response.json(ranked(Number(request.params.n))); });
		const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
		process.on("SIGTERM", () => server.close(() => process.exit(0)));
	J
	cat >ask.js <<-'J'
		const http = require("http"), hash = require("crypto").createHash("sha256");
		const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
		const ask = (n) => new Promise((done, failed) => http.get({ host: "127.0.0.1", port: process.argv[2], path: `/ranked/${n}`, agent },
			(r) => { const parts = []; r.on("data", (d) => parts.push(d)).on("end", () => done(Buffer.concat(parts))); }).on("error", failed));
		(async () => {
			for (let i = 0; i < 1500; i += 8)
				for (const answer of await Promise.all(Array.from({ length: 8 }, (_, j) => ask(i + j))))
					hash.update(answer);
			console.log(hash.digest("hex"));
			agent.destroy();
		})();
	J
	for how in bare preloaded; do
		if [ $how = bare ]; then
			(cd bare && exec node server.js) >port 2>err &
		else
			(cd bare && node_by_us "$work/express" node server.js) >port 2>err &
		fi
		server=$!
		for _ in $(seq 600); do
			[ -s port ] && break
			sleep 0.1
		done
		node ask.js "$(cat port)" >"answers.$how" || fail "express, $how: $(cat err)"
		if [ $how = bare ]; then kill $server; else kill "$(pgrep -P $server || echo $server)"; fi
		wait $server || fail "express, $how: status $?: $(cat err)"
		[ ! -s err ] || fail "express, $how: $(cat err)"
	done
	cmp -s answers.bare answers.preloaded || fail "express: other answers"
	names "$work/express" 'ranked [(]server.js:[0-9]+[)]'
	names "$work/express" 'answersRanked [(]server.js:4[)]'
	names "$work/express" '[(]layer.js:[0-9]+[)] \[router/layer.js\]'
}

webpack() {
	package='webpack@5' install build && (cd build && npm install --no-audit --no-fund --loglevel=error webpack-cli@5 >/dev/null) ||
		skip "webpack cannot be installed here"
	mkdir -p build/src
	for i in $(seq 40); do
		echo "export function part$i(n) { return [n, $i, 'part $i'].map((x) => \`\${x}!\`).join(); }" >"build/src/part$i.js"
		echo "import { part$i } from './part$i.js'; console.log(part$i(1));"
	done >build/src/index.js
	(cd build && node node_modules/.bin/webpack --mode production -o bare >said 2>err) || fail "webpack: $(cat build/said build/err)"
	(cd build && node_by_us "$work/webpack" node node_modules/.bin/webpack --mode production -o preloaded >said 2>err) ||
		fail "webpack: status $?: $(cat build/said build/err)"
	[ ! -s build/err ] || fail "webpack: $(cat build/err)"
	diff -r build/bare build/preloaded >/dev/null || fail "webpack has built something else"
	names "$work/webpack" '[(][A-Za-z]+[.]js:[0-9]+[)] \[lib/[A-Z]'
}

# rollup, which is JavaScript, does most of the work; esbuild, the minifier, is a separate program of Go.
vite() {
	package='vite@5' install app || skip "vite cannot be installed here"
	mkdir -p app/src
	for i in $(seq 200); do
		echo "export function part$i(n) { return [n, $i, 'part $i'].map((x) => \`\${x}!\`).join(); }" >"app/src/part$i.js"
		echo "import { part$i } from './part$i.js'; console.log(part$i(1));"
	done >app/src/main.js
	echo '<!doctype html><title>x</title><script type="module" src="/src/main.js"></script>' >app/index.html
	(cd app && node node_modules/.bin/vite build --logLevel warn --outDir bare >said 2>err) || fail "vite: $(cat app/said app/err)"
	(cd app && node_by_us "$work/vite" node node_modules/.bin/vite build --logLevel warn --outDir preloaded >said.preloaded 2>err.preloaded) ||
		fail "vite: status $?: $(cat app/said.preloaded app/err.preloaded)"
	cmp -s app/err app/err.preloaded || fail "vite: $(cat app/err.preloaded)"
	diff -r app/bare app/preloaded >/dev/null || fail "vite has built something else"
	names "$work/vite" '[(](node-entry|rollup|parseAst|dep-[A-Za-z0-9_-]+)[.]js:[0-9]+[)]'
}

! wanted shares || shares
have npm
! wanted npm || npm_itself
! wanted express || express
! wanted webpack || webpack
! wanted vite || vite
