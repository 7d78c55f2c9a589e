#!/bin/bash
# Real Ruby programs behave as without the agent, and their methods have names: rake, and a rack application served by
# puma under load. Missing ones are omitted.
#
#   TRY="rake rack"  only these
. "$(dirname "$0")/../system/agent.inc"
. test/long/scripts.inc
. test/system/servers.inc
have ruby curl python3 pgrep
cd "$work" || exit 1
left=

try_rake() {
	cat >Rakefile <<-'R'
		def crunch(n)
		  (1..n).inject { |a, b| (a * 31 + b) % 65_521 }
		end

		parts = (1..40).map do |i|
		  file "part#{i}.txt" do |t|
		    File.write(t.name, "#{crunch(1_000_000 + i)}\n")
		    puts "made #{t.name}"
		  end
		  "part#{i}.txt"
		end

		desc "All of it"
		file "all.txt" => parts do |t|
		  File.write(t.name, parts.map { |name| File.read(name) }.join)
		  puts File.read(t.name)
		end
		task default: "all.txt"
	R
	for how in bare preloaded; do
		rm -f ./*.txt
		set -- rake
		if [ $how = bare ]; then "$@" >$how 2>&1 || fail "rake: $(cat $how)"; continue; fi
		by_us "$work/rake" "$@" >$how 2>&1 || fail "rake: status $?: $(cat $how)"
	done
	cmp -s bare preloaded || fail "rake says something else: $(diff bare preloaded)"
	names "$work/rake" 'Object#crunch [(]Rakefile:[12][)]'
	names "$work/rake" 'Rake::(Task|Application)#[a-z_]+ [(](task|application)[.]rb:[0-9]+[)]'
}

try_rack() {
	local port
	port=$(free_port)
	cat >shop.ru <<-'R'
		class Shop
		  def price(n)
		    (1..n % 300 + 50).inject { |a, b| (a * 31 + b) % 65_521 }
		  end

		  def call(env)
		    n = env["PATH_INFO"][1..].to_i
		    body = (1..40).map { |i| "#{i}: #{price(n + i)}" }.join("\n")
		    [200, { "content-type" => "text/plain" }, [body, "\n"]]
		  end
		end
		run Shop.new
	R
	for how in bare preloaded; do
		set -- puma -e production -q -t 4:4 -b "tcp://127.0.0.1:$port" shop.ru
		if [ $how = bare ]; then "$@" >log 2>&1 & else by_us "$work/rack" "$@" >log 2>&1 & fi
		server=$!
		for _ in $(seq 1200); do
			! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
			sleep 0.05
		done
		seq 1500 | sed "s|.*|url=http://127.0.0.1:$port/&|" | curl -sS -K - >"answers.$how" || fail "rack, $how: $(cat log)"
		if [ $how = bare ]; then kill $server; else kill "$(pgrep -P $server || echo $server)"; fi
		wait $server
		! grep -iE 'error|exception|asprof-agent' log || fail "rack, $how: it complains"
	done
	[ -s answers.bare ] && cmp -s answers.bare answers.preloaded || fail "rack: other answers"
	names "$work/rack" 'Shop#price [(]shop.ru:[23][)]'
	names "$work/rack" 'Puma::[A-Za-z]+#[a-z_]+ [(][a-z_]+[.]rb:[0-9]+[)]'
}

# begins NAME COMMAND: it is selected, and installed.
begins() {
	[[ " ${TRY:-rake rack} " == *" $1 "* ]] || return 1
	command -v "$2" >/dev/null || {
		left="$left $1 ($2)"
		return 1
	}
}

! begins rake rake || try_rake
! begins rack puma || try_rack
[ -z "$left" ] || echo "left out:$left"
