#!/bin/bash
# `make release` twice, from the same sources in two places: the same bytes, for this machine, and for aarch64 if
# there is a compiler for it. The archive works where it is unpacked, and has no path of this machine. Container tools
# read the image, and a reader of SPDX the list of parts.
. "$(dirname "$0")/../system/agent.inc"
. test/system/guide.inc
. test/system/servers.inc

have rpmbuild dpkg-deb python3
version=$(sed -n 's/^VERSION := //p' Makefile)
git rev-parse >"$work/top" 2>&1 || skip "this tree is not under git"
# Copies, because somebody may be at work here. The linked libraries are built before; their build directory must not
# be visible either.
make -s all >"$work/log" 2>&1 || fail "make: $(tail "$work/log")"
crosses=('')
if [ "$(uname -m)" != aarch64 ] && command -v aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ >"$work/log"; then
	crosses+=(aarch64-linux-gnu-)
	make -s CROSS=aarch64-linux-gnu- deps >"$work/log" 2>&1 || fail "make deps: $(tail "$work/log")"
fi
git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf "$work/sources.tar" || exit 1
for place in one two/deeper; do
	mkdir -p "$work/$place/build"
	tar -xf "$work/sources.tar" -C "$work/$place" && cp -a build/deps "$work/$place/build/" || exit 1
done
for place in one two/deeper; do
	(cd "$work/$place" && SOURCE_DATE_EPOCH=1700000000 make -s release VERSION="$version") >"$work/log" 2>&1 ||
		fail "make release: $(tail "$work/log")"
	rm -rf "$work/$place/build/release"
done
cmp "$work/one/dist/SHA256SUMS" "$work/two/deeper/dist/SHA256SUMS" ||
	fail "other bytes: $(diff "$work"/one/dist/SHA256SUMS "$work"/two/deeper/dist/SHA256SUMS)"
(cd "$work/one/dist" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS"
# The files: for each machine, by the names of each kind of package.
expected() {
	local machine architecture

	echo "Containerfile SHA256SUMS asprof-agent-$version-oci.tar asprof-agent-$version.spdx.json"
	for machine in "$(uname -m)" ${crosses[1]:+aarch64}; do
		architecture=${machine/x86_64/amd64} architecture=${architecture/aarch64/arm64}
		echo "asprof-agent-$version-linux-$machine.tar.gz asprof-agent-$version-linux-$machine-debug.tar.gz
			asprof-agent_$version-1_$architecture.deb asprof-agent-dbgsym_$version-1_$architecture.deb
			asprof-agent-$version-1.$machine.rpm asprof-agent-debuginfo-$version-1.$machine.rpm
			asprof-agent-$version-image-$architecture.tar.gz asprof-agent-java-$version-linux-$machine.tar.gz
			asprof-agent-java_$version-1_$architecture.deb asprof-agent-java-$version-1.$machine.rpm"
	done
}
expected | xargs -n 1 | LC_ALL=C sort >"$work/expected"
ls "$work/one/dist" | LC_ALL=C sort | diff "$work/expected" - || fail "other files"

name=asprof-agent-$version-linux-$(uname -m)
for part in '' -debug; do
	tar -xzf "$work/one/dist/$name$part.tar.gz" -C "$work" || fail "the archive cannot be unpacked"
done
[ "$(stat -c %Y "$work/$name/bin/asprof-agent")" = 1700000000 ] || fail "not as old as SOURCE_DATE_EPOCH"
grep -rlF "$work" "$work/$name" && fail "a path of this machine is in these"
# Debug data has the sources' paths in the tree.
for file in "$work/$name"/lib/debug/.build-id/*/*.debug; do
	LC_ALL=C readelf --debug-dump=info --dwarf-depth=1 "$file" 2>/dev/null | grep 'DW_AT_comp_dir' |
		grep -v ': \.$' && fail "$file has another directory"
done
"$work/$name/bin/asprof-agent" run -o "$work/out" -- cat /proc/self/maps >"$work/maps" || fail "run"
grep -q "$work/$name/lib/libasprof_preload.so" "$work/maps" || fail "run does not find the library"
if command -v pkg-config >/dev/null; then
	flags=$(PKG_CONFIG_PATH=$work/$name/lib/pkgconfig pkg-config --cflags asprof-agent)
	[ -e "${flags#-I}/asprof_agent.h" ] || [ -e "$(echo "${flags#-I}" | tr -d ' ')/asprof_agent.h" ] ||
		fail "pkg-config says '$flags'"
fi

# The image, as a container tool reads it: for each machine, with the files of the layer and all blobs intact.
oci=$work/one/dist/asprof-agent-$version-oci.tar
if command -v skopeo >/dev/null; then
	skopeo copy --quiet --all --insecure-policy "oci-archive:$oci:$version" "dir:$work/image" >"$work/log" 2>&1 ||
		fail "skopeo: $(cat "$work/log")"
	skopeo inspect --raw "dir:$work/image" | grep -q '"architecture":"amd64"' || fail "no amd64 in the image"
	[ "$(skopeo inspect --raw "dir:$work/image" | grep -o '"architecture"' | wc -l)" = ${#crosses[@]} ] ||
		fail "other machines in the image"
fi
# The guide's command, with a registry on loopback.
if command -v skopeo docker-registry >/dev/null; then
	port=$(free_port)
	printf 'version: 0.1\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: "127.0.0.1:%s"}\n' \
		"$work/registry" "$port" >"$work/registry.yml"
	docker-registry serve "$work/registry.yml" >"$work/log" 2>&1 &
	registry=$!
	trap 'kill "$registry"; wait "$registry"; rm -rf "$work"' EXIT
	until_true bash -c "exec 3<>/dev/tcp/127.0.0.1/$port" || fail "no registry: $(cat "$work/log")"
	guide_block docs/install/containers.md | sed "s/registry.example.com/127.0.0.1:$port/; s/0\.1\.0/$version/g
		s/ copy / copy --insecure-policy --dest-tls-verify=false /" >"$work/block"
	(cd "$work/one" && bash -e "$work/block") >"$work/said" 2>&1 || fail "the guide: $(cat "$work/block" "$work/said")"
	skopeo inspect --raw --tls-verify=false "docker://127.0.0.1:$port/asprof-agent:$version" |
		cmp - <(skopeo inspect --raw "dir:$work/image") || fail "another image in the registry"
else
	echo "the registry was left out: skopeo or docker-registry is missing"
fi
mkdir "$work/copied" "$work/files"
case $(uname -m) in x86_64) architecture=amd64 ;; *) architecture=arm64 ;; esac
tar -xzf "$work/one/dist/asprof-agent-$version-image-$architecture.tar.gz" -C "$work/files" || fail "no layer"
"$work/files/opt/asprof-agent/bin/asprof-agent-launch" --copy-to "$work/copied" || fail "--copy-to: status $?"
[ -s "$work/copied/asprof-agent/java/libasyncProfiler.so" ] || fail "--copy-to: no library for Java"
cmp "$work/copied/libasprof_preload.so" "$work/$name/lib/libasprof_preload.so" || fail "another library in the image"
[ "$("$work/copied/asprof-agent-launch" sh -c 'echo "$LD_PRELOAD"')" = "$work/copied/libasprof_preload.so" ] ||
	fail "the copied launcher"

# The SBOM has each linked library, with versions of the lock.
python3 - "$work/one/dist/asprof-agent-$version.spdx.json" scripts/deps.lock <<'P' || fail "SBOM"
import json, sys
document = json.load(open(sys.argv[1]))
locked = {tuple(line.split()[:2]) for line in open(sys.argv[2]) if line.strip() and line[0] != '#'}
found = {p['name']: p for p in document['packages']}
assert document['creationInfo']['created'] == '2023-11-14T22:13:20Z', document['creationInfo']
for name, source in [('libcurl', 'curl'), ('liblzma', 'xz-utils'), ('llhttp', 'nghttp2')] + [
        (n, n) for n in ('cjson', 'libiberty', 'libzip', 'mbedtls', 'musl', 'zlib', 'async-profiler')]:
    if (source, found[name]['versionInfo']) not in locked:
        print('deps.lock does not have', name, found[name]['versionInfo'])
print(len(found), 'packages in the SBOM')
P
if python3 -m venv "$work/venv" >"$work/log" 2>&1 && "$work/venv/bin/pip" -q install spdx-tools >"$work/log" 2>&1; then
	"$work/venv/bin/pyspdxtools" -i "$work/one/dist/asprof-agent-$version.spdx.json" >"$work/log" 2>&1 ||
		fail "SPDX: $(tail "$work/log")"
else
	echo "without spdx-tools the SBOM is not validated"
fi
echo ok
