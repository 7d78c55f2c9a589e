#!/bin/bash
# The ratio of two functions' samples equals the ratio of their CPU time, which the program measures around each of
# their calls, within 5%; and 99 of a hundred of these samples have all frames, in order. So the machine's load does
# not matter, nor does other work.
#
# A call takes longer than the time between two ticks of the kernel's CPU clock (mostly 4 ms), which begins at a
# random time in a call. For 150 calls of 30 ms each, the sum is off by about half a percent.
#
#   TRY="python node ruby php perl go"  only these
#   PYTHON=… NODE=… RUBY=… PHP=… PERL=…  these interpreters
#   SECONDS_OF_CPU=20  for each
#   SKEW=1.1  factor for the reported CPU time of the shorter one: to see the test fail
. "$(dirname "$0")/../system/agent.inc"
have awk
cd "$work" || exit 1
export SECONDS_OF_CPU=${SECONDS_OF_CPU:-20}
left=

# Each waits until it is profiled: the first second of CPU time is ignored. It prints the CPU time of three and of
# one.
cat >ratio.py <<'P'
import os
import time


def burn(turns):
    x = 1
    while turns:
        x = (x * 31 + turns) & 0xFFFF
        turns -= 1
    return x


def three(turns):
    return burn(3 * turns) + 1


def one(turns):
    return burn(turns) + 1


def timed(function, turns):
    begin = time.thread_time()
    function(turns)
    return time.thread_time() - begin


def main(seconds):
    turns = 1000
    while timed(burn, turns) < 0.03:
        turns *= 2
    while time.thread_time() < 1:
        burn(turns)
    spent = [0, 0]
    while sum(spent) < seconds:
        spent[0] += timed(three, turns)
        spent[1] += timed(one, turns)
    print(*spent)


main(float(os.environ["SECONDS_OF_CPU"]))
P
cat >ratio.js <<'J'
'use strict';

function burn(turns) {
	let x = 1;
	for (let i = 0; i < turns; i++)
		x = (Math.imul(x, 31) + i) | 0;
	return x;
}

function three(turns) {
	return burn(3 * turns) + 1;
}

function one(turns) {
	return burn(turns) + 1;
}

// (Of the whole process: its other threads have nothing to do.)
function now() {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1e6;
}

function timed(fun, turns) {
	const begin = now();
	fun(turns);
	return now() - begin;
}

function main(seconds) {
	let turns = 1000;
	const spent = [0, 0];
	for (let i = 0; i < 1000; i++)
		burn(turns);
	while (timed(burn, turns) < 0.03)
		turns *= 2;
	while (now() < 1)
		burn(turns);
	while (spent[0] + spent[1] < seconds) {
		spent[0] += timed(three, turns);
		spent[1] += timed(one, turns);
	}
	console.log(spent.join(' '));
}

main(Number(process.env.SECONDS_OF_CPU));
J
cat >ratio.rb <<'R'
def burn(turns)
  x = 1
  while turns > 0
    x = (x * 31 + turns) & 0xffff
    turns -= 1
  end
  x
end

def three(turns)
  burn(3 * turns) + 1
end

def one(turns)
  burn(turns) + 1
end

def now
  Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)
end

def main(seconds)
  turns = 1000
  took = 0
  while took < 0.03
    turns *= 2
    begun = now
    burn(turns)
    took = now - begun
  end
  burn(turns) while now < 1
  spent = [0, 0]
  while spent.sum < seconds
    begun = now
    three(turns)
    between = now
    one(turns)
    spent[0] += between - begun
    spent[1] += now - between
  end
  puts spent.join(" ")
end

main(ENV["SECONDS_OF_CPU"].to_f)
R
cat >ratio.php <<'P'
<?php
function burn($turns)
{
    $x = 1;
    while ($turns) {
        $x = ($x * 31 + $turns) & 0xffff;
        $turns--;
    }
    return $x;
}

function three($turns)
{
    return burn(3 * $turns) + 1;
}

function one($turns)
{
    return burn($turns) + 1;
}

// (Of the whole process, which has no other thread of its own.)
function now()
{
    $usage = getrusage();
    return $usage['ru_utime.tv_sec'] + $usage['ru_stime.tv_sec'] + ($usage['ru_utime.tv_usec'] + $usage['ru_stime.tv_usec']) / 1e6;
}

function timed($function, $turns)
{
    $begin = now();
    $function($turns);
    return now() - $begin;
}

function main($seconds)
{
    $turns = 1000;
    while (timed('burn', $turns) < 0.03) {
        $turns *= 2;
    }
    while (now() < 1) {
        burn($turns);
    }
    $spent = [0, 0];
    while (array_sum($spent) < $seconds) {
        $spent[0] += timed('three', $turns);
        $spent[1] += timed('one', $turns);
    }
    echo "$spent[0] $spent[1]\n";
}

main((float)getenv('SECONDS_OF_CPU'));
P
cat >ratio.pl <<'P'
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_THREAD_CPUTIME_ID);

sub burn {
	my ($turns) = @_;
	my $x = 1;
	while ($turns) {
		$x = ($x * 31 + $turns) & 0xffff;
		$turns--;
	}
	return $x;
}

sub three { my ($turns) = @_; my $x = burn(3 * $turns); return $x }
sub one   { my ($turns) = @_; my $x = burn($turns); return $x }
sub now   { return clock_gettime(CLOCK_THREAD_CPUTIME_ID) }

sub timed {
	my ($function, $turns) = @_;
	my $begin = now();
	$function->($turns);
	return now() - $begin;
}

sub main {
	my ($seconds) = @_;
	my $turns = 1000;
	$turns *= 2 while timed(\&burn, $turns) < 0.03;
	while (now() < 1) { my $x = burn($turns); }
	my ($first, $second) = (0, 0);
	while ($first + $second < $seconds) {
		$first  += timed(\&three, $turns);
		$second += timed(\&one,   $turns);
	}
	print "$first $second\n";
	return;
}

main($ENV{SECONDS_OF_CPU});
P
cat >ratio.go <<'G'
package main

// #include <stdlib.h>
// #include <time.h>
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
)

var sink uint64

//go:noinline
func burn(turns int) {
	for i := 0; i < turns; i++ {
		sink = sink*31 + 7
	}
}

//go:noinline
func three(turns int) { burn(3 * turns) }

//go:noinline
func one(turns int) { burn(turns) }

func now() float64 {
	var t C.struct_timespec
	C.clock_gettime(C.CLOCK_THREAD_CPUTIME_ID, &t)
	return float64(t.tv_sec) + float64(t.tv_nsec)/1e9
}

func timed(function func(int), turns int) float64 {
	begin := now()
	function(turns)
	return now() - begin
}

func main() {
	runtime.LockOSThread()
	seconds, _ := strconv.ParseFloat(os.Getenv("SECONDS_OF_CPU"), 64)
	turns := 1000
	for timed(burn, turns) < 0.03 {
		turns *= 2
	}
	for now() < 1 {
		burn(turns)
	}
	first, second := 0.0, 0.0
	for first+second < seconds {
		first += timed(three, turns)
		second += timed(one, turns)
	}
	fmt.Println(first, second)
	C.exit(0) // the last report is made by the C library's
}
G

# try NAME COMMAND...: it is selected, and installed.
try() {
	local name=$1 part
	shift
	[[ " ${TRY:-python node ruby php perl go} " == *" $name "* ]] || return 0
	command -v "${1:-$name}" >/dev/null || {
		left="$left $name"
		return 0
	}
	rm -rf out
	profiled out builtin CPU_INTERVAL=1ms WALL_INTERVAL=off PROCESS='python*,node*,ruby*,php*,perl*,ratio*' "$@" >spent ||
		fail "$name: status $?"
	"$agent" collapsed --cpu out >stacks || fail "$name: nothing was sampled"
	part='(Object#|main::|main[.])?'
	sampled="$(samples "(^|;)${part}three;" <stacks) $(samples "(^|;)${part}one;" <stacks)"
	whole=$(samples "(^|;)${part}main;(${part}timed;)?$part(three|one);${part}burn( |;|\$)" <stacks)
	all=$(samples ";${part}burn( |;|\$)" < <(grep -E '(three|one);' stacks))
	awk -v name="$name" -v skew="${SKEW:-1}" -v whole="$whole" -v all="$all" '
		{ spent = $1 / ($2 * skew); seconds = $1 + $2 }
		END {
			split(ENVIRON["sampled"], n, " ")
			ratio = n[2] ? n[1] / n[2] : 0
			printf "%-8s %d and %d samples, %.4f to one, in %.1f s of CPU time, %.4f to one: off by %.2f%%; %.2f%% whole\n",
				name ":", n[1], n[2], ratio, seconds, spent, 100 * (ratio / spent - 1), all ? 100 * whole / all : 0
			exit !(n[1] + n[2] > 500 * seconds && ratio > 0.95 * spent && ratio < 1.05 * spent && whole >= 0.99 * all)
		}' spent || fail "$name: $(head -c 4000 stacks)"
}
export sampled

python=${PYTHON:-python3}
try python "$("$python" -c 'import sys; print(sys.executable)' || echo "$python")" ratio.py # which may be a script that finds it
try node "${NODE:-node}" ratio.js
try ruby "${RUBY:-ruby}" ratio.rb
try php "${PHP:-php}" ratio.php
try perl "${PERL:-perl}" ratio.pl
if command -v go >/dev/null && GO111MODULE=off CGO_ENABLED=1 GOFLAGS='' go build -o ratio ratio.go >err 2>&1; then
	try go ./ratio
else
	left="$left go"
fi
[ -z "$left" ] || echo "left out:$left"
