#!/bin/bash
# Perl's own profiler, NYTProf, and the agent, at the same time, give the same shares for a program of known shape.
# NYTProf makes each statement and each call of a sub slower, and samples include that. So the program has few of
# either, and its time is in long operations. Both use CPU time (clock 2). (PERL5LIB is the path of Devel::NYTProf, if
# Perl does not find it.) Real programs behave as without the agent, and their subs have names: exiftool,
# spamassassin. Missing ones are omitted.
#
#   TRY="shares exiftool spamassassin"  only these
. "$(dirname "$0")/../system/agent.inc"
. test/long/scripts.inc
have perl python3
cd "$work" || exit 1
tried=${TRY:-shares exiftool spamassassin}
left=

# both NAME COMMAND...: the output is the same.
both() {
	local name=$1
	shift
	"$@" >"$name.bare" 2>&1 <"$input" || fail "$name: $(tail "$name.bare")"
	by_us "$work/$name" "$@" >"$name.preloaded" 2>&1 <"$input" || fail "$name: status $?: $(tail "$name.preloaded")"
	cmp -s "$name.bare" "$name.preloaded" || fail "$name says something else: $(diff "$name.bare" "$name.preloaded" | head)"
}

shares() {
	cat >shares.pl <<'P'
use strict;
use warnings;

my @weights = (20, 16, 13, 11, 9, 8, 7, 6, 5, 2, 2, 1);
my $text = join ' ', map { $_ * 7919 % 1000 } 1 .. 3000;
my @works = map {
	my $i = $_;
	eval "sub work_$i { return scalar(\@{[sort split / /, \$_[0]]}) } \\&work_$i" or die $@;
} 0 .. $#weights;
my @parts = map { my $n = $_; map { $n } 1 .. $weights[$n] } 0 .. $#weights;

# In random order: samples come with the clock's ticks, and a regular order would be in step with them.
my ($sum, $seed) = (0, 1);
for my $turn (1 .. 12000) {
	$seed = ($seed * 1664525 + 1013904223) & 0xffffffff;
	$sum += $works[$parts[($seed >> 8) % @parts]]->($text);
}
print "$sum\n";
P
	NYTPROF=file=$work/theirs:stmts=0:clock=2 by_us "$work/shares" perl -d:NYTProf shares.pl >said 2>&1 ||
		fail "status $?: $(cat said)"
	"$agent" collapsed --cpu --frames script shares >stacks || fail "nothing was sampled"
	perl -MDevel::NYTProf::Data -e '
		my $profile = Devel::NYTProf::Data->new({filename => "theirs", quiet => 1});
		my $subs = $profile->subname_subinfo_map;
		print "$_ ", $subs->{$_}->excl_time, "\n" for grep { /work_/ } keys %$subs;' >theirs.txt ||
		fail "their profile cannot be read"
	python3 - <<'P' || fail "shares: they differ"
import collections, re, sys

ours = collections.Counter()
for line in open("stacks"):
    stack, n = line.rsplit(" ", 1)
    if "work_" in stack:
        ours[re.findall(r"work_\d+", stack)[-1]] += int(n)
theirs = {name.split("::")[1]: float(seconds) for name, seconds in map(str.split, open("theirs.txt"))}
n, seconds = sum(ours.values()), sum(theirs.values())
ours = {name: 100 * count / n for name, count in ours.items()}
theirs = {name: 100 * count / seconds for name, count in theirs.items()}
worst = max(abs(ours.get(name, 0) - theirs.get(name, 0)) for name in set(ours) | set(theirs))
print("NYTProf, and %d samples of the agent: shares differ by %.1f points at most" % (n, worst))
for name in sorted(theirs, key=theirs.get, reverse=True):
    print("  %-8s %5.1f %5.1f" % (name, theirs[name], ours.get(name, 0)))
sys.exit(n < 2000 or worst > 3 or set(sorted(theirs, key=theirs.get)[-8:]) != set(sorted(ours, key=ours.get)[-8:]))
P
}

# Its output for files of many kinds.
exiftool_itself() {
	input=/dev/null
	find /usr/share -xdev -type f \( -name '*.png' -o -name '*.jpg' -o -name '*.html' -o -name '*.zip' -o -name '*.pdf' -o -name '*.gz' \) |
		sort | head -n 400 >files
	both exiftool exiftool -charset filename=utf8 -json -x FileAccessDate -x FileInodeChangeDate -@ files
	names exiftool 'Image::ExifTool::[A-Za-z:]+ [(][A-Za-z]+.pm:[0-9]+[)]'
	names exiftool '[{]main[}] [(]exiftool:[0-9]+[)]'
}

# A message that is checked without a network, by a new user.
spamassassin_itself() {
	input=$work/message
	{
		printf 'From: Some One <one@example.com>\nTo: other@example.com\nSubject: cheap watches\nMessage-ID: <1@example.com>\n'
		printf 'Date: Mon, 01 Jun 2026 10:00:00 +0000\nContent-Type: text/plain\n\n'
		for i in $(seq 300); do echo "Buy $i watches now, at http://example.com/$i, for \$$i only!"; done
	} >message
	# shellcheck disable=SC2016 # is that shell's
	HOME=$work/home both spamassassin sh -c 'rm -rf "$HOME" && mkdir -p "$HOME/.spamassassin" &&
		touch "$HOME/.spamassassin/user_prefs" && exec spamassassin --test-mode --local'
	names spamassassin 'Mail::SpamAssassin::[A-Za-z:_]+ [(][A-Za-z]+.pm:[0-9]+[)]'
	grep -q 'X-Spam-Checker-Version' spamassassin.preloaded || fail 'spamassassin has not judged it'
}

# wanted NAME COMMAND...: it is selected, and installed.
wanted() {
	[[ " $tried " == *" $1 "* ]] || return 1
	"${@:2}" >/dev/null 2>&1 || {
		left="$left $1"
		return 1
	}
}

! wanted shares perl -MDevel::NYTProf::Data -e 1 || shares
! wanted exiftool command -v exiftool || exiftool_itself
! wanted spamassassin command -v spamassassin || spamassassin_itself
[ -z "$left" ] || echo "left out:$left"
