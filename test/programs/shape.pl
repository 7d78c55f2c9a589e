#!/usr/bin/perl
# A program of Perl whose stacks are known: each part burns a tenth of a second, but where it says so.
use strict;
use warnings;
use Config;
use POSIX ();
no warnings 'recursion';

use constant PART => 0.1;
my @kept;

sub burn {    # burn begins
	my ($seconds) = @_;
	my $end = (times)[0] + (times)[1] + $seconds;
	my $total = 0;
	while ((times)[0] + (times)[1] < $end) {
		for my $i (1 .. 2000) {
			$total += $i * $i % 7;
		}
	}
	return $total;    # burn ends
}

sub three {
	return burn(3 * PART) + 0;    # three burns
}

sub one {
	return burn(PART) + 0;    # one burns
}

sub deeper {
	my ($depth) = @_;
	return deeper($depth - 1) + 0 if $depth;    # goes deeper
	return burn(PART) + 0;    # at the bottom
}

sub compares {
	my ($x, $y) = @_;
	burn(PART / 10);    # compares
	return $x <=> $y;
}

sub by_number($$) {
	return compares(@_);    # sorts by sub
}

sub guards {
	my $got = eval {
		burn(PART);    # in an eval
		die "gone\n";
	};
	return $@;
}

sub hoards {
	for my $i (1 .. 20) {
		push @kept, 'x' x (3000000 + $i);    # hoards
	}
}

package Shop::Counter;

use overload '+' => sub {
	main::burn(main::PART);    # adds
	return 1;
};

sub new { return bless {}, shift }

sub sell {
	return main::burn(main::PART) + 0;    # sells
}

sub DESTROY {
	eval { main::burn(main::PART) };    # clears up
}

package main;

burn(4 * PART);    # (by then it is profiled)
deeper(60);
{
	my $counter = Shop::Counter->new;
	$counter->sell;
	my $sum = $counter + 1;    # asks for a sum
}
my @sorted = sort { compares($a, $b) } 1 .. 10;    # sorts by block
@sorted = sort by_number 1 .. 10;    # sorts by name
guards();    # is guarded
my $closure = sub {
	burn(PART);    # in a closure
};
$closure->();
for my $i (0 .. 9) {
	my $made = eval "package made_$i; sub burns { main::burn(main::PART / 10) } \\&burns" or die $@;
	$made->();
	undef $made;
	no strict 'refs';
	undef &{"made_${i}::burns"};
}
three();
one();
hoards();
select undef, undef, undef, $ARGV[0] || 0;    # naps
if ($Config{useithreads} && eval { require threads; 1 }) {
	threads->create(sub { burn(PART) })->join;    # in a thread
}
$| = 1;
print 'ok ', scalar @kept, "\n";
POSIX::_exit(0);    # or all would be freed in the end
