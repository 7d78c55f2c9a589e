#!/bin/sh
# scripts/install: all files are where a distribution would put them, work from there, and are removed again.
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "$*"
	exit 1
}
unset LD_PRELOAD

# (Existing directories stay, also empty ones.)
mkdir -p "$dir/usr/lib/theirs" "$dir/usr/bin" "$dir/usr/include" "$dir/usr/share/man" &&
	echo theirs >"$dir/usr/bin/theirs" || exit 1
find "$dir/usr" | sort >"$dir/before"
B=${B:-build} DESTDIR=$dir PREFIX=/usr scripts/install >/dev/null || fail "install: status $?"
for file in lib/libasprof_preload.so lib/asprof-agent/libasyncProfiler.so bin/asprof-agent include/asprof_agent.h \
	bin/asprof-agent-launch bin/asprof-agent-entrypoint lib/pkgconfig/asprof-agent.pc \
	share/man/man1/asprof-agent-launch.1 share/doc/asprof-agent/CHANGELOG.md \
	share/man/man1/asprof-agent.1 share/man/man7/libasprof_preload.7 \
	share/bash-completion/completions/asprof-agent share/zsh/site-functions/_asprof-agent \
	share/fish/vendor_completions.d/asprof-agent.fish \
	share/doc/asprof-agent/examples/profile.conf share/doc/asprof-agent/examples/kubernetes/kustomization.yaml; do
	[ -s "$dir/usr/$file" ] || fail "no $file"
done
[ ! -e "${B:-build}/libasprof_attach.so" ] || [ -s "$dir/usr/lib/asprof-agent/libasprof_attach.so" ] ||
	fail "no file for static programs"
for command in asprof-agent asprof-agent-launch asprof-agent-entrypoint; do
	[ -x "$dir/usr/bin/$command" ] || fail "$command cannot be executed"
done

# Stripped; gdb and others find the symbols by build id.
for file in lib/libasprof_preload.so bin/asprof-agent bin/asprof-agent-launch; do
	LC_ALL=C readelf -SW "$dir/usr/$file" | grep -q '\.debug_info\|\.symtab' && fail "$file is not stripped"
	id=$(LC_ALL=C readelf -nW "$dir/usr/$file" | sed -n 's/.*Build ID: //p')
	[ -n "$id" ] || fail "$file has no build-id"
	debug=$dir/usr/lib/debug/.build-id/${id%"${id#??}"}/${id#??}.debug
	LC_ALL=C readelf -SW "$debug" | grep -q '\.symtab' || fail "$file: no symbols in $debug"
done

[ -s "$dir/usr/lib/debug/asprof-agent/libasprof_preload-image.debug" ] || fail "no symbols of the image"

# The version is in the Makefile; all other places have the same one.
version=$(sed -n 's/^VERSION := //p' Makefile)
[ "$("$dir/usr/bin/asprof-agent" --version)" = "asprof-agent $version" ] || fail "--version"
grep -q "^Version: $version\$" "$dir/usr/lib/pkgconfig/asprof-agent.pc" || fail "asprof-agent.pc"
grep -q "^## $version" CHANGELOG.md || fail "CHANGELOG.md does not begin with $version"
for page in docs/*.[17]; do
	grep -q "^\.TH .*\"asprof-agent $version\"\|^\.so " "$page" || fail "$page is of another version"
done
if command -v pkg-config >/dev/null; then
	flags=$(PKG_CONFIG_PATH=$dir/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir \
		PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 pkg-config --cflags asprof-agent) || fail "pkg-config"
	[ "${flags% }" = "-I$dir/usr/include" ] || fail "pkg-config says '$flags'"
fi

# Links between the installed guides work.
(
	cd "$dir/usr/share/doc/asprof-agent" || exit 1
	[ -e docs/flamegraph.png ] || fail "no guides"
	pages=$(find . -name '*.md')
	for page in $pages; do
		for link in $(grep -oE '\]\([^):#]+' "$page" | cut -c3-); do
			[ -e "$(dirname "$page")/$link" ] || fail "$page leads to $link, which is not installed"
		done
	done
) || exit 1

# The command finds the library next to its directory bin. A program maps that library.
"$dir/usr/bin/asprof-agent" run -o "$dir/out" -- cat /proc/self/maps >"$dir/maps" ||
	fail "run: status $?"
grep -q "$dir/usr/lib/libasprof_preload.so" "$dir/maps" || fail "the preload is not in the program"

# By the soname alone, after the linker's configuration has the directory.
LD_LIBRARY_PATH=$dir/usr/lib LD_PRELOAD=libasprof_preload.so cat /proc/self/maps >"$dir/maps" 2>&1
grep -q "$dir/usr/lib/libasprof_preload.so" "$dir/maps" || fail "not found by its soname"

# A program that is built with the header runs without the library, and with it.
cat >"$dir/client.c" <<'END'
#include <asprof_agent.h>
int main(void)
{
	ASPROF_AGENT_POLL_BEGIN();
	ASPROF_AGENT_POLL_END();
	return asprof_agent_version ? 3 : 4;
}
END
${CC:-cc} -Wall -Werror -I"$dir/usr/include" -o "$dir/client" "$dir/client.c" || fail "the header"
"$dir/client"
[ $? = 4 ] || fail "a client without the library"
LD_PRELOAD=$dir/usr/lib/libasprof_preload.so "$dir/client"
[ $? = 3 ] || fail "a client with the library"

if command -v bash >/dev/null; then
	# completes WORDS WORD...: the completions of the last WORD
	completes() {
		wanted=$1
		shift
		words=$(PATH=$dir/usr/bin:$PATH bash -c '. "$1"; shift; COMP_WORDS=(asprof-agent "$@"); COMP_CWORD=$#
			_asprof_agent; echo "${COMPREPLY[@]}"' bash "$dir/usr/share/bash-completion/completions/asprof-agent" "$@" 2>&1)
		[ "$words" = "$wanted" ] || fail "completion of '$*' gives '$words'"
	}
	completes options op
	completes --cumulative top --cum
	completes 'library interpreter kernel own' top --fold ''
	completes 'lock' waits --cause loc
	completes 'malloc free' nativemem --type ''
	completes 'top collapsed flamegraph pprof' heap 1234 ''
	completes --cumulative heap 1234 top --cum
	completes 'STALLS=' set 1234 STA
	completes "$dir/client.c" top "$dir/client."
fi

# All earlier files are still there, and no others.
B=${B:-build} DESTDIR=$dir PREFIX=/usr scripts/install --uninstall >/dev/null || fail "uninstall: status $?"
find "$dir/usr" | sort >"$dir/after"
cmp -s "$dir/before" "$dir/after" || fail "left behind, or gone: $(diff "$dir/before" "$dir/after")"
echo ok
