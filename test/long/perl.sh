#!/bin/bash
# Perl's own profiler, NYTProf, and ours, at the same time, say the same of a program of known shape. NYTProf makes each
# statement and each call of a sub slower, and a sample sees what it does there: so the program has few of either, and what it
# does is in operations that take long. Both go by CPU time (clock 2). (PERL5LIB says where Devel::NYTProf is, if Perl does not find it.)
. "$(dirname "$0")/../system/agent.inc"
have perl python3
cd "$work" || exit 1
perl -MDevel::NYTProf::Data -e 1 2>/dev/null || skip "Devel::NYTProf is not on this machine"

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

# In no order: samples come with the clock's ticks, and would fall in step with what comes round.
my ($sum, $seed) = (0, 1);
for my $turn (1 .. 12000) {
	$seed = ($seed * 1664525 + 1013904223) & 0xffffffff;
	$sum += $works[$parts[($seed >> 8) % @parts]]->($text);
}
print "$sum\n";
P
NYTPROF=file=$work/theirs:stmts=0:clock=2 profiled "$work/shares" builtin CPU_INTERVAL=1ms WALL_INTERVAL=off \
	perl -d:NYTProf shares.pl >said 2>&1 || fail "status $?: $(cat said)"
"$agent" collapsed --cpu --frames script shares >stacks || fail "nothing was sampled"
perl -MDevel::NYTProf::Data -e '
	my $profile = Devel::NYTProf::Data->new({filename => "theirs", quiet => 1});
	my $subs = $profile->subname_subinfo_map;
	print "$_ ", $subs->{$_}->excl_time, "\n" for grep { /work_/ } keys %$subs;' >theirs.txt || fail "their profile cannot be read"
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
print("NYTProf, and %d samples of ours: shares differ by %.1f points at most" % (n, worst))
for name in sorted(theirs, key=theirs.get, reverse=True):
    print("  %-8s %5.1f %5.1f" % (name, theirs[name], ours.get(name, 0)))
sys.exit(n < 2000 or worst > 3 or set(sorted(theirs, key=theirs.get)[-8:]) != set(sorted(ours, key=ours.get)[-8:]))
P
