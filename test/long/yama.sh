#!/bin/bash
# attach under each scope of Yama, in a virtual machine with Debian's kernel: a user may trace his own process in scope 0
# only, root until scope 3. A refusal is one line, `doctor` agrees, and the process continues.
. "$(dirname "$0")/../system/agent.inc"
[ -e "$B/libasprof_attach.so" ] || skip "programs can be attached to on x86-64 alone"
have busybox apt-get dpkg-deb ldd
ldd "$(command -v busybox)" >/dev/null 2>&1 && skip "busybox is not static"

cd "$work" || exit 1
mkdir packages unpacked root

# download NAME...: the packages, unpacked. (The mirror may have none of them for a while.)
download() {
	(cd packages && rm -f -- *.deb && apt-get -o APT::Sandbox::User=root download "$@") >log 2>&1 ||
		skip "these packages cannot be downloaded: $*: $(tail -n 1 log)"
	for package in packages/*.deb; do
		dpkg-deb -x "$package" unpacked
	done
}

kernel=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p' | head -n 1)
[ -n "$kernel" ] || skip "this machine's apt lists have no kernel of Debian"
download "$kernel"
machine=(qemu-system-x86_64)
if ! command -v "${machine[0]}" >/dev/null; then
	# And what it needs that is not installed.
	mapfile -t names < <(apt-get install --no-install-recommends --print-uris -qq qemu-system-x86 2>log |
		sed -n "s/.*' \([^_ ]*\)_.*/\1/p")
	[ ${#names[@]} != 0 ] || skip "this machine's apt lists have no qemu-system-x86: $(cat log)"
	download "${names[@]}"
	libraries=$work/unpacked/usr/lib/x86_64-linux-gnu:$work/unpacked/lib/x86_64-linux-gnu
	machine=(env "LD_LIBRARY_PATH=$libraries" unpacked/usr/bin/qemu-system-x86_64 -L unpacked/usr/share/qemu
		-L unpacked/usr/share/seabios)
fi

mkdir -p root/{bin,proc,dev,tmp,etc}
cp "$(command -v busybox)" root/bin/busybox
cp "$agent" "$B/libasprof_attach.so" root/bin/
strip -o root/bin/asprof-agent "$agent"
ldd "$agent" | grep -o '/[^ ]*' | while read -r library; do
	mkdir -p "root$(dirname "$library")"
	cp "$library" "root$library"
done
printf 'root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n' >root/etc/passwd
cat >root/init <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
chmod 1777 /tmp
su user -s /bin/sh -c 'exec sleep 100000' &
until pid=$(pidof sleep); do :; done
attach() {
	$1 "/bin/asprof-agent attach $pid" 2>&1 || echo "refused"
	$1 "/bin/asprof-agent doctor $pid" 2>&1 | grep 'cannot be attached to'
	grep -q "^sleep" /proc/$pid/comm || echo "it has ended"
	while cat /proc/$pid/task/*/comm | grep -q asprof; do asprof-agent detach $pid; done
}
for scope in 0 1 2 3; do
	echo $scope >/proc/sys/kernel/yama/ptrace_scope
	echo "<scope $(cat /proc/sys/kernel/yama/ptrace_scope) user>"
	attach "su user -s /bin/sh -c"
	echo "<scope $scope root>"
	attach "sh -c"
done
echo '<end>'
poweroff -f
END
chmod +x root/init
(cd root && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >initrd
timeout 1200 "${machine[@]}" -accel tcg -cpu max -m 512 -nographic -no-reboot -nodefaults -serial stdio \
	-kernel unpacked/boot/vmlinuz-* -initrd initrd \
	-append 'console=ttyS0 quiet panic=-1 lsm=yama no_timer_check' </dev/null >console 2>&1
tr -d '\r' <console >lines
grep -q '<end>' lines || fail "the machine: $(tail -n 20 lines)"

# scoped SCOPE USER: what happened.
scoped() { sed -n "/<scope $1 $2>/,/^</p" lines | grep -v '^<'; }

# permitted SCOPE USER
permitted() {
	scoped "$1" "$2" | grep -q 'is profiled now' && ! scoped "$1" "$2" | grep -q 'refused\|cannot be attached\|it has ended' ||
		fail "scope $1, $2: $(scoped "$1" "$2")"
}

# refused SCOPE USER TEXT: with one line, and one of doctor.
refused() {
	[ "$(scoped "$1" "$2" | grep -c "$3")" = 2 ] && [ "$(scoped "$1" "$2" | wc -l)" = 3 ] &&
		scoped "$1" "$2" | grep -q '^refused$' || fail "scope $1, $2: $(scoped "$1" "$2")"
}

permitted 0 user
permitted 0 root
refused 1 user 'ptrace_scope is 1: run this as root, or set it to 0'
permitted 1 root
refused 2 user 'ptrace_scope is 2: run this as root, or set it to 0'
permitted 2 root
refused 3 user 'ptrace_scope is 3, until this machine starts again'
refused 3 root 'ptrace_scope is 3, until this machine starts again'
