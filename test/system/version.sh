#!/bin/bash
# scripts/check-version: a tag, the Makefile and CHANGELOG.md have the same version; otherwise nothing is released.
. "$(dirname "$0")/agent.inc"

have git
scripts/check-version || fail "this tree: status $?"
mkdir -p "$work/tree/scripts"
cp scripts/check-version "$work/tree/scripts/"
check=$work/tree/scripts/check-version
# tree VERSION HEADING
tree() {
	echo "VERSION := $1" >"$work/tree/Makefile"
	printf '# Changes\n\n%s\n\n## 0.9.0\n' "$2" >"$work/tree/CHANGELOG.md"
}
# refused WHAT WORDS
refused() {
	"$check" 2>"$work/err" && fail "$1: not refused"
	grep -qF "$2" "$work/err" || fail "$1: $(cat "$work/err")"
}
taken() {
	"$check" || fail "$1: status $?"
}

tree 1.2.0 '## 1.2.0, not released yet'
taken "no repository"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git="git -C $work/tree -c user.name=a -c user.email=a@example.org"
$git init -q && $git add . && $git commit -qm one || exit 1
taken "no tag"
tree 1.2.0 '## 1.1.0'
refused "an old CHANGELOG" "CHANGELOG.md begins with '## 1.1.0'"
tree 1.2.0 '## 1.2.01'
refused "a longer version" "CHANGELOG.md begins with"
tree 1.2.0 '## 1.2.0, not released yet'
$git tag v1.2.0
refused "a tag of what is not released" "v1.2.0 is tagged"
tree 1.2.0 '## 1.2.0, 21 November 2026'
taken "a release"
$git tag another
taken "another tag"
tree 1.3.0 '## 1.3.0'
refused "a tag of another version" "this is tagged v1.2.0, and the Makefile has version 1.3.0"
echo ok
