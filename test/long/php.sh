#!/bin/bash
# Real PHP programs behave as without the agent, and their functions have names: a wiki with its pages in files, in
# FPM's workers and in those of Apache, under load; and composer. Missing ones are omitted. Needs root, for the
# servers' users.
#
#   TRY="fpm apache composer"  only these
#   KEEP=DIR  keep reports with a missing name there
. "$(dirname "$0")/../system/agent.inc"
. test/system/servers.inc
for_everybody

[ "$(id -u)" = 0 ] || skip "needs root"
have python3 php
PATH=$PATH:/usr/sbin
root=$work/wiki left=
export ROOT=$root
trap 'for server in "$work"/*.pid; do [ ! -s "$server" ] || kill "$(cat "$server")"; done; rm -rf "$work"' EXIT

by_us() {
	profiled "$work/out" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off "$@"
}

# names PATTERN: top has such a function.
names() {
	"$agent" top --cpu --lines -n 0 "$work/out" >"$work/top" || fail "$what: nothing was sampled"
	grep -qE "$1" "$work/top" && return
	[ -z "${KEEP:-}" ] || cp -r "$work/out" "$KEEP/$what"
	fail "$what: no $1 among $(wc -l <"$work/top") lines of $(find "$work/out" -name '*.jfr' | wc -l) reports: $(head -n 60 "$work/top")"
}

# same FILE FILE: equal, except for times and values made from them.
same() {
	diff <(sed -E 's/[0-9]+//g' "$1") <(sed -E 's/[0-9]+//g' "$2") >"$work/differs" ||
		fail "$what: other answers: $(head -c 2000 "$work/differs")"
}

# ---- The wiki ----

# A new one, without any cached page.
begin_wiki() {
	rm -rf "$root"
	cp -rL /usr/share/dokuwiki "$root"
	cp -r /var/lib/dokuwiki/data "$root/data"
	for i in 1 2 3; do
		cp "$root/data/pages/wiki/syntax.txt" "$root/data/pages/wiki/syntax$i.txt"
	done
	mkdir "$root/conf"
	cp /etc/dokuwiki/*.conf /etc/dokuwiki/*.php "$root/conf/" 2>/dev/null
	find "$root" -name .htaccess -delete
	rm -f "$root"/conf/{local,local.protected,acl.auth,users.auth}.php
	cat >"$root/conf/local.php" <<-END
		<?php
		\$conf['savedir'] = '$root/data';
		\$conf['useacl'] = 0;
		\$conf['updatecheck'] = 0;
		\$conf['disableactions'] = '';
	END
	echo "<?php define('DOKU_CONF', '$root/conf/');" >"$root/inc/preload.php"
	echo salt | tee "$root/data/meta/_htcookiesalt" >"$root/data/meta/_htcookiesalt2" # of what is signed
	chown -R www-data "$root/data" "$root/conf"
	chmod -R a+rX "$root"
	find "$root" -exec touch -h -d @1600000000 {} + # which are part of some addresses
	rm -rf "$work/out" && mkdir -m 1777 "$work/out"
}

# pages VISITOR: its requests. Each visitor has its own page to render: otherwise another one would find it
# incomplete.
pages() {
	for i in $(seq 20); do
		echo "doku.php?id=wiki:syntax$1&purge=$i"
	done
	# (Most of a page's time is after the end of its action; this page's is inside it.)
	for i in $(seq 5); do
		echo "doku.php?id=wiki:syntax$1&do=export_xhtml&purge=$i"
	done
	echo 'doku.php?id=wiki:welcome&do=edit'
	echo 'doku.php?id=wiki:syntax&do=index'
	echo 'doku.php?id=start&do=search&q=wiki'
	echo 'doku.php?id=wiki:syntax&do=export_raw'
	echo 'feed.php?mode=list&ns=wiki'
}

# visited WHO HOW: three visitors at once, after a first one; WHO requests the given pages, with the cookies in
# $COOKIE. The responses go to $work/HOW.
visited() {
	local visitors=() all
	mapfile -t all < <(pages '')
	COOKIE=DokuWiki=$(printf '%026d' 0) $1 "${all[0]}" "${all[@]: -5}" >"$work/first" || fail "$what: $(tail -n 5 "$work/err" "$work"/*.log)"
	for i in 1 2 3; do
		mapfile -t all < <(pages $i)
		COOKIE=DokuWiki=$(printf '%026d' $i) $1 "${all[@]}" >"$work/answers.$i" &
		visitors+=($!)
	done
	for i in "${visitors[@]}"; do
		wait "$i" || fail "$what: a visitor's status is $?: $(tail -n 5 "$work/err" "$work"/*.log)"
	done
	grep -q 'Formatting Syntax' "$work/answers.1" || fail "$what: no such page: $(head -c 2000 "$work/answers.1")"
	cat "$work"/answers.[123] >"$work/$2"
}

is_the_wiki() {
	names 'Lexer::[A-Za-z]+ [(]Lexer.php:[0-9]+[)]'
	names 'Doku_Renderer_xhtml::[A-Za-z_]+ [(]xhtml.php:[0-9]+[)]'
	names 'ActionRouter::[A-Za-z]+ [(]ActionRouter.php:[0-9]+[)]'
}

by_fastcgi() {
	python3 test/programs/fastcgi.py "$work/fpm.socket" "${@/#/$root/}"
}

try_fpm() {
	cat >"$work/fpm.conf" <<-END
		[global]
		error_log = $work/fpm.log
		pid = $work/fpm.pid
		process_control_timeout = 60s
		[www]
		user = www-data
		group = www-data
		listen = $work/fpm.socket
		listen.mode = 0666
		pm = static
		pm.max_children = 3
	END
	for how in bare preloaded; do
		begin_wiki
		set -- "$fpm" -F -y "$work/fpm.conf"
		if [ $how = bare ]; then "$@" 2>"$work/err" & else by_us "$@" 2>"$work/err" & fi
		server=$!
		visited by_fastcgi $how
		kill -QUIT "$(cat "$work/fpm.pid")"
		wait $server || fail "$what, $how: status $?: $(cat "$work/err")"
		! grep -v NOTICE "$work/fpm.log" || fail "$what, $how: it complains"
		rm -f "$work/fpm.log"
	done
	same "$work/bare" "$work/preloaded"
	is_the_wiki
}

by_http() {
	curl -sS --fail --cookie "$COOKIE" "${@/#/http://127.0.0.1:$port/}"
}

try_apache() {
	port=$(free_port)
	apache_configuration "$work/apache.pid" "$work/apache.log" "$port" "$root" >"$work/apache.conf"
	cat >>"$work/apache.conf" <<-END
		LoadModule mime_module modules/mod_mime.so
		LoadModule php_module $module
		TypesConfig /etc/mime.types
		AddHandler application/x-httpd-php .php
		StartServers 3
		MinSpareServers 3
		MaxSpareServers 6
		MaxRequestWorkers 6
	END
	for how in bare preloaded; do
		begin_wiki
		set -- setsid apache2 -f "$work/apache.conf" -DFOREGROUND # (it ends its whole process group)
		if [ $how = bare ]; then "$@" 2>"$work/err" & else by_us "$@" 2>"$work/err" & fi
		server=$!
		for _ in $(seq 1200); do
			! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
			sleep 0.05
		done
		visited by_http $how
		kill -WINCH "$(cat "$work/apache.pid")"
		wait $server || fail "$what, $how: status $?: $(cat "$work/err" "$work/apache.log")"
		! grep -E ':(error|crit|alert|emerg)\]' "$work/apache.log" || fail "$what, $how: it complains"
		rm -f "$work/apache.log"
	done
	same "$work/bare" "$work/preloaded"
	is_the_wiki
}

# ---- composer ----

# A project of a hundred classes, and one package of two hundred, from a local directory.
try_composer() {
	export COMPOSER_HOME=$work/composer COMPOSER_ALLOW_SUPERUSER=1 COMPOSER_DISABLE_NETWORK=1 COMPOSER_NO_INTERACTION=1
	mkdir -p "$work/package/src" "$work/project/src"
	for i in $(seq 200); do
		echo "<?php namespace Some\\Package; class Part$i { public function name() { return 'part $i'; } }" >"$work/package/src/Part$i.php"
		echo "<?php class Thing$i { /** class NotThis {} */ public \$x = 'class $i'; }" >"$work/project/src/Thing$i.php"
	done
	cat >"$work/package/composer.json" <<-"END"
		{"name": "some/package", "version": "1.2.3", "autoload": {"psr-4": {"Some\\Package\\": "src"}}}
	END
	cat >"$work/project/composer.json" <<-END
		{"name": "some/project", "require": {"some/package": "^1.2"}, "autoload": {"classmap": ["src"]}, "config": {"autoloader-suffix": "x"},
			"repositories": [{"packagist.org": false}, {"type": "path", "url": "$work/package", "options": {"symlink": false}}]}
	END
	for how in bare preloaded; do
		rm -rf "$work/project/vendor" "$work/project/composer.lock" "$work/composer" "$work/out"
		set -- php "$(command -v composer)" --working-dir="$work/project" --no-ansi --optimize-autoloader --no-cache install
		if [ $how = bare ]; then
			"$@" >"$work/$how" 2>&1 || fail "$what: $(cat "$work/$how")"
		else
			by_us "$@" >"$work/$how" 2>&1 || fail "$what: status $?: $(cat "$work/$how")"
		fi
		rm -rf "$work/vendor.$how"
		cp -r "$work/project/vendor" "$work/vendor.$how"
	done
	cmp "$work/bare" "$work/preloaded" || fail "$what: it says something else: $(cat "$work/preloaded")"
	diff -r "$work/vendor.bare" "$work/vendor.preloaded" >"$work/differs" || fail "$what has made something else: $(head "$work/differs")"
	[ -s "$work/vendor.bare/composer/autoload_classmap.php" ] || fail "$what: nothing was made"
	names 'Composer.*::[A-Za-z]+ [(][A-Za-z]+.php:[0-9]+[)]'
	names 'ClassMapGenerator::[A-Za-z]+ [(]ClassMapGenerator.php:[0-9]+[)]'
}

# begins NAME [FILE...]: it is selected, and these exist.
begins() {
	[[ " ${TRY:-fpm apache composer} " == *" $1 "* ]] || return 1
	what=$1
	shift
	for file in "$@"; do
		[ -e "$file" ] || {
			left="$left $what ($file)"
			return 1
		}
	done
}

fpm=$(compgen -c php-fpm | sort | tail -n 1)
module=$(compgen -G '/usr/lib/apache2/modules/libphp*.so' | sort | tail -n 1)
! begins fpm "$(command -v "${fpm:-php-fpm}" || echo php-fpm)" /usr/share/dokuwiki || try_fpm
! begins apache "$(command -v apache2 || echo apache2)" "${module:-libphp.so}" /usr/share/dokuwiki || try_apache
! begins composer "$(command -v composer || echo composer)" || try_composer
[ -z "$left" ] || echo "left out:$left"
