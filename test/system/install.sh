#!/bin/sh
# scripts/install: everything where a distribution would have it, and working from there.
set -u
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() {
	echo "$*"
	exit 1
}
unset LD_PRELOAD

B=${B:-build} DESTDIR=$dir PREFIX=/usr scripts/install >/dev/null || fail "install: status $?"
for file in lib/libasprof_preload.so bin/asprof-agent include/asprof_agent.h \
	share/man/man1/asprof-agent.1 share/man/man7/libasprof_preload.7 \
	share/bash-completion/completions/asprof-agent share/zsh/site-functions/_asprof-agent \
	share/fish/vendor_completions.d/asprof-agent.fish \
	share/doc/asprof-agent/examples/profile.conf; do
	[ -s "$dir/usr/$file" ] || fail "no $file"
done
[ -x "$dir/usr/bin/asprof-agent" ] || fail "the command cannot be executed"

# The command finds the library beside its bin; a program sees it mapped from there.
"$dir/usr/bin/asprof-agent" run -o "$dir/out" -- cat /proc/self/maps >"$dir/maps" ||
	fail "run: status $?"
grep -q "$dir/usr/lib/libasprof_preload.so" "$dir/maps" || fail "the preload is not in the program"

# With the soname alone, once the linker looks there.
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
	words=$(PATH=$dir/usr/bin:$PATH bash -c '. "$1"; COMP_WORDS=(asprof-agent op); COMP_CWORD=1
		_asprof_agent; echo "${COMPREPLY[@]}"' bash "$dir/usr/share/bash-completion/completions/asprof-agent" 2>&1)
	[ "$words" = options ] || fail "completion of 'op' gives '$words'"
fi
echo ok
