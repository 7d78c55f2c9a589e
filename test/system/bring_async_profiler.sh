#!/bin/bash
# scripts/bring-async-profiler fetches only the library and the converter with the hashes of the lock, from a registry
# that can be reached. The test replaces the registries' clients.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
fail() {
	echo "$*"
	exit 1
}
for command in unzip python3; do
	command -v $command >/dev/null || {
		echo "$command is not on this machine"
		exit 77
	}
done

mkdir -p "$work/scripts" "$work/bin" "$work/registry" || exit 1
cp scripts/bring-async-profiler "$work/scripts/"
python3 - "$work/registry" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/async-profiler-7.1.jar", "w") as jar:
    for machine in "linux-x64", "linux-arm64":
        jar.writestr(machine + "/libasyncProfiler.so", "library for " + machine)
with zipfile.ZipFile(sys.argv[1] + "/jfr-converter-7.1.jar", "w") as jar:
    jar.writestr("main", "converter")
PYTHON
for name in async-profiler jfr-converter; do
	echo "$name 7.1 maven $(sha256sum <"$work/registry/$name-7.1.jar" | cut -d' ' -f1) $name-7.1.jar"
done >"$work/scripts/deps.lock"
echo "zlib 1 trixie 0 zlib_1.dsc" >>"$work/scripts/deps.lock"

# Clients: Maven serves the registry's files. There is no Java for Ivy, and apt has no such package.
cat >"$work/bin/mvn" <<'SCRIPT'
#!/bin/bash
echo "$*" >>"$FAKE/asked"
for word; do
	case $word in
	-Dartifact=*) IFS=: read -r _ name version <<<"${word#*=}" ;;
	-DoutputDirectory=*) directory=${word#*=} ;;
	esac
done
cp "$FAKE/registry/$name-$version.jar" "$directory/"
SCRIPT
printf '#!/bin/sh\nexit 1\n' >"$work/bin/java"
cp "$work/bin/java" "$work/bin/apt-get"
chmod +x "$work/bin/mvn" "$work/bin/java" "$work/bin/apt-get"
export PATH=$work/bin:$PATH FAKE=$work HOME=$work
bring=$work/scripts/bring-async-profiler out=$work/out

"$bring" --check "$out" && fail "it is said to be there"
"$bring" "$out" >"$work/said" 2>&1 || fail "status $?: $(cat "$work/said")"
grep -q "^async-profiler 7.1: $out/lib/libasyncProfiler.so$" "$work/said" || fail "$(cat "$work/said")"
grep -q "library for linux-$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')" \
	"$out/lib/libasyncProfiler.so" || fail "another machine's library"
[ -x "$out/bin/jfrconv" ] && cmp "$work/registry/jfr-converter-7.1.jar" "$out/lib/jfr-converter.jar" ||
	fail "no converter"

# The script does not fetch the same version twice, but it fetches another version.
rm "$work/asked"
"$bring" --check "$out" && "$bring" "$out" && [ ! -e "$work/asked" ] || fail "asked again"
sed -i 's/7\.1/7.2/g' "$work/scripts/deps.lock"
"$bring" --check "$out" && fail "an old version is enough"

# If no registry has it, there is one line, and existing files stay.
"$bring" "$out" >"$work/said" 2>&1 && fail "there is no 7.2, but status 0"
[ "$(wc -l <"$work/said")" = 1 ] && grep -q 'no registry that is within reach has async-profiler 7.2' \
	"$work/said" || fail "none: $(cat "$work/said")"
[ -e "$out/lib/libasyncProfiler.so" ] || fail "the existing library is gone"

# That line has a client's error.
cp "$work/bin/mvn" "$work/mvn"
printf '#!/bin/sh\necho "[ERROR] "\necho "[ERROR] PKIX path building failed"\necho "[ERROR] more"\nexit 1\n' >"$work/bin/mvn"
"$bring" "$out" >"$work/said" 2>&1 && fail "an error of Maven, but status 0"
[ "$(wc -l <"$work/said")" = 1 ] && grep -q 'has async-profiler 7.2: PKIX path building failed$' "$work/said" ||
	fail "an error of Maven: $(cat "$work/said")"
mv "$work/mvn" "$work/bin/mvn"

# Another file with the right name.
cp "$work/registry/jfr-converter-7.1.jar" "$work/registry/async-profiler-7.2.jar"
"$bring" "$work/other" >"$work/said" 2>&1 && fail "another file is taken"
grep -q 'async-profiler-7.2.jar is not the file that deps.lock names' "$work/said" ||
	fail "another file: $(cat "$work/said")"
[ ! -e "$work/other/lib" ] || fail "another file is unpacked"
echo ok
