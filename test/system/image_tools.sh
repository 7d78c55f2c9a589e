#!/bin/bash
# The image is checked when it is linked. The preload contains the bytes that a kernel would load.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() {
	echo "$*"
	exit 1
}
cd "$(dirname "$0")/../.." || exit

# link NAME FLAG…: link standard input as a program without a library.
link() {
	local name=$1

	shift
	${CC:-cc} -x c - -O1 -fPIE -nostdlib -static -Wl,-pie,--no-dynamic-linker -fno-stack-protector \
		-o "$work/$name" "$@" 2>"$work/said" || fail "cannot link $name: $(cat "$work/said")"
}

# refused NAME WORDS: for that reason only, with a message of one line.
refused() {
	local said

	said=$(scripts/check-image "$work/$1") && fail "$1 passes"
	[ "$said" = "check-image: $work/$1: $2" ] || fail "$1: $said"
}

begin='__attribute__((visibility("hidden"))) void _start(void) {}'
echo "$begin static int a; int *b = &a;" | link good
scripts/check-image "$work/good" || fail "a good one is refused"
echo "$begin __attribute__((used)) static void sigaction(void) {}" | link handler
refused handler 'has sigaction'
echo "$begin int setresuid(void) { return 0; }" | link user
refused user 'has setresuid'
echo "$begin int a = 1;" | link writable -Wl,--omagic
refused writable 'has code that can be written to'
cat <<-END | link indirect
	$begin
	static void one(void) {}
	__attribute__((used)) static void *choose(void) { return one; }
	void indirect(void) __attribute__((ifunc("choose"), visibility("hidden")));
	void (*pointer)(void) = indirect;
END
case $(uname -m) in
x86_64) refused indirect 'has a relocation R_X86_64_IRELATIVE' ;;
aarch64) refused indirect 'has a relocation R_AARCH64_IRELATIVE' ;;
esac
echo 'int main(void) { return 0; }' | ${CC:-cc} -x c - -o "$work/dynamic" || fail "cannot link"
scripts/check-image "$work/dynamic" >"$work/said" && fail "a dynamic program passes"
grep -q 'needs a library' "$work/said" && grep -q 'wants an interpreter' "$work/said" ||
	fail "dynamic: $(cat "$work/said")"

# A program with every kind of segment; its data does not begin on a page.
cat <<-'END' | link parts -Wl,-z,separate-code,-z,relro,-z,now -Wl,-z,max-page-size=4096
	static const char text[5000] = "constant";
	static char data[7000] = "written to", zeros[100000];
	void *pointers[] = { data, zeros, pointers, (void *)text };
	__attribute__((visibility("hidden"))) const void *_start(void) { return text; }
END
scripts/image-layout "$work/parts" "$work" || fail "no layout"
printf '#include "%s/layout.h"\n%s' "$work" 'p IMAGE_PAGE IMAGE_SIZE IMAGE_CODE_START IMAGE_CODE_END
	IMAGE_DATA_START IMAGE_RELRO_END IMAGE_DATA_FILE_END IMAGE_DATA_END IMAGE_ENTRY IMAGE_PHDR IMAGE_PHNUM' |
	${CC:-cc} -E -P - | tr -s ' \t' '\n' | grep -v '^p$' >"$work/numbers"
mapfile -t n <"$work/numbers"
[ "${#n[@]}" -eq 11 ] || fail "layout: $(cat "$work/layout.h")"
[ "$(stat -c %s "$work/agent.flat")" -eq "${n[1]}" ] || fail "agent.flat is of another size"
for i in 1 2 3 4 5 7; do
	((n[i] % n[0] == 0)) || fail "not a multiple of a page: $(cat "$work/layout.h")"
done
((n[2] <= n[8] && n[8] < n[3] && n[3] <= n[4] && n[4] <= n[5] && n[5] <= n[6] && n[6] < n[7])) ||
	fail "out of order: $(cat "$work/layout.h")"
segments=0
while read -r _ offset address _ in_file in_memory _; do
	cmp -s <(tail -c +$((address + 1)) "$work/agent.flat" | head -c $((in_file))) \
		<(tail -c +$((offset + 1)) "$work/parts" | head -c $((in_file))) ||
		fail "the segment at $address is not in its place"
	tail -c +$((address + in_file + 1)) "$work/agent.flat" | head -c $((in_memory - in_file)) |
		tr -d '\0' | grep -q . && fail "no zeros after the segment at $address"
	segments=$((segments + 1))
done < <(readelf -lW "$work/parts" | grep '^  LOAD ')
[ $segments -ge 3 ] || fail "only $segments segments"
cmp -s "$work/agent.data" <(head -c "${n[6]}" "$work/agent.flat" | tail -c +$((n[4] + 1))) ||
	fail "agent.data is something else"

# An image that the loader cannot map as one code and one data part is refused.
scripts/image-layout "$work/writable" "$work" 2>"$work/said" && fail "code that is data has a layout"
grep -q 'a segment is RWE' "$work/said" || fail "$(cat "$work/said")"
echo ok
