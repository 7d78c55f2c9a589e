#!/bin/bash
# The linked libraries are built only from the sources in scripts/deps.lock, by version and hash, or from a newer
# revision if the archive has replaced them. The archive is a folder. Only apt's check of the lists' signature is not
# tested.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset DEPS_DIR
fail() {
	echo "$*"
	exit 1
}
for command in dpkg-source dpkg /usr/lib/apt/apt-helper; do
	command -v "$command" >/dev/null || {
		echo "$command is not on this machine"
		exit 77
	}
done

mkdir -p "$work/scripts" "$work/bin" "$work/lists"
cp scripts/build-deps "$work/scripts/"
export PATH=$work/bin:$PATH FAKE=$work

# package NAME VERSION DIRECTORY: make a source package in DIRECTORY, whose only file contains its version.
package() {
	mkdir -p "$work/new/$1-${2%-*}/debian/source" "$3"
	(
		cd "$work/new/$1-${2%-*}" || exit
		echo "$2" >version
		echo 1.0 >debian/source/format
		printf 'Source: %s\nMaintainer: N <n@example.org>\n\nPackage: %s\nArchitecture: any\nDescription: x\n' \
			"$1" "$1" >debian/control
		printf '%s (%s) unstable; urgency=low\n\n  * x\n\n -- N <n@example.org>  Thu, 01 Jan 2026 00:00:00 +0000\n' \
			"$1" "$2" >debian/changelog
		cd "$3" && dpkg-source -b "$work/new/$1-${2%-*}"
	) >"$work/log" 2>&1 || fail "no source package: $(cat "$work/log")"
	rm -rf "$work/new"
}

# lock NAME VERSION DIRECTORY: print its lines.
lock() {
	(cd "$3" && sha256sum "$1_$2".*) | sed "s/^/$1 $2 trixie /; s/  */ /g"
}

# listed NAME VERSION PLACE: print its entry in the archive's lists.
listed() {
	printf 'Package: %s\nVersion: %s\nDirectory: %s\nChecksums-Sha256:\n %s 1 %s_%s.dsc\n\n' \
		"$1" "$2" "$3" "$(printf %064d 0)" "$1" "$2" >>"$work/lists/$1"
}

# The commands of apt that are used: lists that name the folder, and the contents of the lists.
cat >"$work/bin/apt-get" <<'END'
#!/bin/bash
case " $* " in
*' indextargets '*)
	echo "Debian|Debian|copy:$FAKE/archive"
	echo "Debian|Debian-Security|copy:$FAKE/security"
	;;
*' source '*)
	wanted=${*: -1}
	cp "$FAKE/moved/${wanted%=*}_${wanted#*=}."* .
	;;
esac
END
cat >"$work/bin/apt-cache" <<'END'
#!/bin/bash
cat "$FAKE/lists/${*: -1}" 2>/dev/null
END
chmod +x "$work/bin"/*

# sources: the packages that build-deps takes, as "NAME VERSION…" in one line; its messages are in $work/said.
sources() {
	rm -rf "$work/out"
	"$work/scripts/build-deps" --sources "$work/out" >"$work/said" 2>&1 || return 1
	(cd "$work/out" && grep -H . */version) | sed 's|/version:| |' | sort | xargs
}

says() {
	grep -q "$1" "$work/said" || fail "not said: $1, but: $(cat "$work/said")"
}

pool=$work/archive/pool/main
updates=$work/security/pool/updates/main
for name in zlib libzip cjson mbedtls curl musl xz-utils libiberty; do
	folder=${name:0:1}
	[[ $name != lib* ]] || folder=${name:0:4}
	package $name 1.2-1 "$pool/$folder/$name"
	lock $name 1.2-1 "$pool/$folder/$name" >>"$work/scripts/deps.lock"
done
cp "$work/scripts/deps.lock" "$work/plain.lock"
others="libiberty 1.2-1 libzip 1.2-1 mbedtls 1.2-1 musl 1.2-1 xz-utils 1.2-1 zlib 1.2-1"

got=$(sources) || fail "as locked: $(cat "$work/said")"
[ "$got" = "cjson 1.2-1 curl 1.2-1 $others" ] || fail "as locked: $got"
grep -q 'newer\|not served' "$work/said" && fail "as locked: $(cat "$work/said")"

# The best version first, which may be a security update; then the next.
package curl 1.2-1+u1 "$updates/c/curl"
{
	lock curl 1.2-1+u1 "$updates/c/curl"
	cat "$work/plain.lock"
} >"$work/scripts/deps.lock"
got=$(sources) || fail "a security update: $(cat "$work/said")"
[ "$got" = "cjson 1.2-1 curl 1.2-1+u1 $others" ] || fail "a security update: $got"
mv "$updates" "$work/moved"
got=$(sources) || fail "a mirror that lags: $(cat "$work/said")"
[ "$got" = "cjson 1.2-1 curl 1.2-1 $others" ] || fail "a mirror that lags: $got"
says 'curl 1.2-1+u1 is not served here: 1.2-1 is taken'

# Other bytes with the right name and version: refused, and not unpacked.
cp -r "$pool/c/cjson" "$work/cjson"
for file in "$pool"/c/cjson/*; do
	chmod u+w "$file" && echo >>"$file"
	sources >/dev/null && fail "other bytes in $file are taken"
	says "$(basename "$file") from copy:$work/archive/pool/main is not the file"
	[ ! -e "$work/out/cjson" ] || fail "other bytes are unpacked"
	cp "$work/cjson/$(basename "$file")" "$file"
done

# The archive has a newer revision of the series: its signed lists are trusted.
rm -rf "$pool/c/cjson" "$work/moved"
package cjson 1.2.1-1 "$work/moved"
package cjson 1.3-1 "$work/moved"
package cjson 1.1-9 "$work/moved"
listed cjson 1.1-9 pool/main/c/cjson
sources >/dev/null && fail "an older version is taken"
says 'the mirror serves no cjson that .*, only: 1.1-9.*--update-lock'
listed cjson 1.3-1 pool/main/c/cjson
sources >/dev/null && fail "another series is taken"
says 'the mirror serves no cjson that .*, only: 1.3-1 1.1-9.*--update-lock'
listed cjson 1.2.1-1 pool/updates/main/c/cjson
got=$(sources) || fail "the archive has moved on: $(cat "$work/said")"
[ "$got" = "cjson 1.2.1-1 curl 1.2-1 $others" ] || fail "the archive has moved on: $got"
says 'newer than the lock: cjson 1.2.1-1'

# The suggested lines for the lock have the newest version, also one that is not only in the security updates.
for name in zlib libzip mbedtls curl musl xz-utils libiberty; do
	listed $name 1.4-1 "pool/main/x/$name"
done
echo "other 7 maven 1234 other.jar" >>"$work/scripts/deps.lock"
listed curl 1.4-1+u2 pool/updates/main/c/curl
"$work/scripts/build-deps" --update-lock >"$work/said" 2>&1 || fail "--update-lock: $(cat "$work/said")"
got=$(cut -d' ' -f1,2 "$work/scripts/deps.lock" | uniq | grep -v libzip | xargs)
[ "$got" = "other 7 zlib 1.4-1 cjson 1.3-1 mbedtls 1.4-1 curl 1.4-1+u2 curl 1.4-1 musl 1.4-1 \
xz-utils 1.4-1 libiberty 1.4-1" ] ||
	fail "--update-lock: $got"
grep -q "^curl 1.4-1 trixie 0\{64\} curl_1.4-1.dsc$" "$work/scripts/deps.lock" ||
	fail "--update-lock: $(cat "$work/scripts/deps.lock")"

# Without apt: the message has the commands for the tarballs, which download by the lock's hashes.
mkdir -p "$work/without/bin" "$work/mirror/pool/main" "$work/had"
for command in bash sh awk sed sha256sum cut basename dirname mkdir mktemp rm cat realpath curl grep find sort; do
	ln -s "$(command -v "$command")" "$work/without/bin/" || exit 1
done
PATH=$work/without/bin "$work/scripts/build-deps" --sources "$work/out" >"$work/said" 2>&1 && fail "sources without apt"
says 'no apt here .*--tarballs DIRECTORY.*DEPS_DIR=DIRECTORY'
for name in zlib libzip cjson mbedtls curl musl xz-utils libiberty nghttp2; do
	folder=$work/mirror/pool/main/${name:0:1}/$name
	[[ $name != lib* ]] || folder=$work/mirror/pool/main/${name:0:4}/$name
	mkdir -p "$folder"
	echo "$name" >"$folder/${name}_9.orig.tar.gz"
	(cd "$folder" && sha256sum "${name}_9.orig.tar.gz") | sed "s/^/$name 9 trixie /; s/  */ /g" >>"$work/tarballs.lock"
done
cp "$work/scripts/deps.lock" "$work/before.lock"
{
	echo "zlib 10 trixie $(printf %064d 0) zlib_10.orig.tar.gz" # no mirror has it any more
	cat "$work/tarballs.lock"
} >"$work/scripts/deps.lock"
if command -v curl >/dev/null; then
	MIRROR=file://$work/mirror PATH=$work/without/bin "$work/scripts/build-deps" --tarballs "$work/had" >"$work/said" 2>&1 ||
		fail "tarballs: $(cat "$work/said")"
	[ "$(cd "$work/had" && cat -- *)" = "$(printf '%s\n' cjson curl libiberty libzip mbedtls musl nghttp2 xz-utils zlib)" ] ||
		fail "tarballs: $(ls "$work/had")"
	says "make DEPS_DIR=$work/had"
	echo other >"$work/mirror/pool/main/m/musl/musl_9.orig.tar.gz"
	MIRROR=file://$work/mirror "$work/scripts/build-deps" --tarballs "$work/had" >"$work/said" 2>&1 && fail "other bytes are taken"
	says 'musl_9.orig.tar.gz .* is not the file'
	[ ! -e "$work/had/musl_9.orig.tar.gz" ] || fail "other bytes stay"
fi
cp "$work/before.lock" "$work/scripts/deps.lock"

# The user's own tarballs are accepted; a message names the ones that the lock does not have.
mkdir "$work/tarballs" "$work/tree"
echo 7.7-7 >"$work/tree/version"
for name in zlib libzip cJSON mbedtls curl musl xz libiberty; do
	tar -czf "$work/tarballs/$name-7.7.tar.gz" -C "$work" tree
done
echo "curl 7.7-7 trixie $(sha256sum <"$work/tarballs/curl-7.7.tar.gz" | cut -d' ' -f1) x" \
	>>"$work/scripts/deps.lock"
tar -czf "$work/tarballs/zlib-7.7.tar.gz" -C "$work" --mtime=@0 tree
DEPS_DIR=$work/tarballs sources >/dev/null || fail "tarballs: $(cat "$work/said")"
says 'unpack zlib-7.7.tar.gz, which deps.lock does not know'
says 'unpack curl-7.7.tar.gz$'
echo ok
