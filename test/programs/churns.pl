#!/usr/bin/perl
# Runs subs that are created and dropped, in many threads, and lists the existing subs.
#
# usage: churns.pl FOLDER THREADS SECONDS
#
# It restarts by exec(2) after so many seconds, until FOLDER/stop exists. FOLDER/names/perl has a line for each sub,
# with its name, its file and its lines. Its subs follow a rule: made_L_I is in the lines 2 * I + 1 and 2 * I + 2 of
# lotL.pl.
use strict;
use warnings;
use B ();
use Config;
no warnings 'recursion';

my ($folder, $threads, $seconds) = @ARGV;
my $begun = time;
my $lots = 0;
my (@pool, @steps, @run, @stand);

# ---- Steps: each calls the first of the remaining steps with the rest ----

sub plain {
	my ($next, @rest) = @_;
	my $got = $next->(@rest);
	return $got;
}

sub recurses {
	my ($depth, $next, @rest) = @_;
	return recurses($depth - 1, $next, @rest) + 0 if $depth;
	return $next->(@rest) + 0;
}

sub recurses_some { my @rest = @_; return recurses(8, @rest) + 0 }

sub fails {
	my ($next, @rest) = @_;
	eval {
		$next->(@rest);
		die "on the way\n";
	};
	return length $@;
}

sub fails_for_good {
	my ($next, @rest) = @_;
	local $SIG{__DIE__} = sub { my $x = 1; burn(10) };
	eval { eval { die [$next->(@rest)] }; die $@ };
	return 1;
}

sub sorts {
	my ($next, @rest) = @_;
	my $done = 0;
	my @sorted = sort { $next->(@rest) unless $done++; $a <=> $b } 3, 1, 2;
	return scalar @sorted;
}

our $left;

sub by_sub {
	if (my $now = $left) {
		$left = undef;
		$now->[0]->(@$now[1 .. $#$now]);
	}
	return $a <=> $b;
}

sub sorts_by_sub {
	local $left = [@_];
	my @sorted = sort by_sub 3, 1, 2;
	return scalar @sorted;
}

sub replaces {
	my ($next, @rest) = @_;
	my $text = 'abc';
	$text =~ s/b/$next->(@rest)/e;
	return length $text;
}

sub evals {
	my ($next, @rest) = @_;
	return eval "#line 1 \"evals.pl\"\nmy \$x = 1;\n\$next->(\@rest) + \$x";
}

sub maps {
	my ($next, @rest) = @_;
	my @all = map { $next->(@rest) } 1;
	return scalar grep { defined } @all;
}

sub closes {
	my ($next, @rest) = @_;
	my $held = 1;
	my $inner = sub {
		my $x = $held;
		return $next->(@rest) + $x;
	};
	return $inner->() + 0;
}

sub goes_to {
	my ($next, @rest) = @_;
	@_ = @rest;
	goto &$next;
}

package Shop {
	use overload '+' => \&adds, '""' => sub { my $self = shift; return 'shop' };
	our $AUTOLOAD;

	sub new {
		my ($class, @rest) = @_;
		return bless {rest => [@rest]}, $class;
	}

	sub sells {
		my ($self) = @_;
		my ($next, @rest) = @{$self->{rest}};
		return $next ? $next->(@rest) + 0 : 0;
	}

	sub adds {
		my ($self, $other) = @_;
		my $got = $self->sells;
		return $got;
	}

	sub AUTOLOAD {
		my ($self) = @_;
		return if $AUTOLOAD =~ /DESTROY/;
		return $self->sells + 0;
	}
}

package Shop::Closes {
	our @ISA = 'Shop';

	sub DESTROY {
		my ($self) = @_;
		local $@;
		$self->sells;
		return;
	}
}

package Shop::Tied {
	sub TIESCALAR { my ($class, @rest) = @_; return bless [@rest], $class }

	sub FETCH {
		my ($self) = @_;
		my ($next, @rest) = @$self;
		return $next->(@rest) + 0;
	}
}

sub asks    { my $shop = Shop->new(@_); return $shop->sells + 0 }
sub adds_up { my $shop = Shop->new(@_); return $shop + 1 }
sub has_not { my $shop = Shop->new(@_); return $shop->has_no_such_thing + 0 }
sub ends    { my $shop = Shop::Closes->new(@_); undef $shop; return 1 }
sub ties    { tie my $value, 'Shop::Tied', @_; my $got = $value; return $got }

# ---- Ends of a chain ----

sub burn {
	my ($work) = @_;
	my $total = 0;
	for my $i (1 .. $work) {
		$total += $i * $i % 7;
	}
	return $total;
}

sub burns { my $got = burn(int rand 1000); return 1 }

sub allocates {
	my @kept = map { {text => 'x' x rand 200} } 1 .. 50;
	return scalar @kept;
}

sub naps {
	my $for = -log(1 - rand) / 50;
	select undef, undef, undef, $for;
	return 1;
}

# ---- Created and dropped subs ----

# A dropped sub has its name until it is freed.
my @names;

sub keep {
	my ($name, $made) = @_;
	my $at = @pool < 200 ? scalar @pool : int rand @pool;
	my $gone = $names[$at];
	$names[$at] = $name;
	$pool[$at] = $made;
	delete $main::{$gone} if defined $gone && !grep { $_ eq $gone } @names;
	return;
}

sub makes_lot {
	my $lot = sprintf '%d%03d%06d', $$, $Config{useithreads} ? threads->tid : 0, ++$lots;
	my $text = qq{#line 1 "lot$lot.pl"\n};
	$text .= "sub made_${lot}_$_ { my (\$next, \@rest) = \@_;\nreturn \$next->(\@rest) + 0; }\n" for 0 .. 19;
	eval $text;
	no strict 'refs';
	keep($_, \&$_) for map { "made_${lot}_$_" } 0 .. 19;
	return;
}

# A file with two texts in turn.
sub reloads {
	for my $which (qw(odd even)) {
		delete $INC{"$folder/$which/comes_and_goes.pl"};
		no warnings 'redefine';
		require "$folder/$which/comes_and_goes.pl";
		no strict 'refs';
		keep($which, \&$which);
	}
	return;
}

sub chain {
	my ($ends) = @_;
	my @some = map { $steps[rand @steps] } 1 .. rand 6;
	push @some, map { $pool[rand @pool] } 1 .. rand 12 if @pool;
	@some = sort { rand() <=> 0.5 } @some;
	my $first = shift @some;
	$first = $steps[0] unless $first;
	push @some, $ends->[rand @$ends];
	return $first->(@some);
}

sub over { return time >= $begun + $seconds || -e "$folder/stop" }

sub stands {
	makes_lot();
	chain(\@stand) while !over();
	return;
}

sub churns {
	for (my $turn = 1; !over(); $turn++) {
		makes_lot();
		chain(\@run) for 1 .. 20;
		reloads() if $turn % 25 == 0;
		if ($turn % 50 == 0) {
			if (my $child = fork) { waitpid $child, 0 }
			else { alarm 10; my $end = time + 1; chain(\@run) while time < $end; kill KILL => $$ if 0; POSIX::_exit(0) }
			threads->create(\&brief)->join if $Config{useithreads};
		}
	}
	return;
}

sub brief { chain(\@run) for 1 .. 50; return }

# ---- Existing subs ----

my %said;

sub tell_lines {
	my ($name, $file, @lines) = @_;
	@{$said{"$name\t$file"}}{@lines} = ();
	return;
}

sub tell_ops {
	my ($name, $op) = @_;
	return unless $$op;
	tell_lines($name, $op->file, $op->line) if ref $op eq 'B::COP';
	if ($op->flags & B::OPf_KIDS()) {
		for (my $kid = $op->first; $$kid; $kid = $kid->sibling) {
			tell_ops($name, $kid);
		}
	}
	tell_ops($name, $op->pmreplroot) if ref $op eq 'B::PMOP' && ref $op->pmreplroot && ref($op->pmreplroot) =~ /OP$/;
	return;
}

my %told;

sub tell_sub {
	my ($name, $cv) = @_;
	return if $told{$$cv}++ || ref $cv ne 'B::CV' || !${$cv->ROOT};
	tell_ops($name, $cv->ROOT);
	tell_pads($name, $cv);
	return;
}

# Subs without a name are in the pads of their owners.
sub tell_pads {
	my ($name, $cv) = @_;
	(my $package = $name) =~ s/::[^:]*$//;
	my $pads = $cv->PADLIST;
	return unless $$pads;
	for my $pad (grep { ref } $pads->ARRAY) {
		next unless ref $pad eq 'B::AV' || $pad->can('ARRAY');
		for my $value ($pad->ARRAY) {
			tell_sub("${package}::__ANON__", $value) if ref $value eq 'B::CV';
		}
	}
	return;
}

sub tell_package {
	my ($package, $seen) = @_;
	no strict 'refs';
	return if $seen->{$package}++;
	for my $name (sort keys %{"${package}::"}) {
		if ($name =~ /^(.*)::$/) {
			tell_package($package eq 'main' ? $1 : "${package}::$1", $seen) unless $1 eq 'main';
			next;
		}
		my $glob = \${"${package}::"}{$name};
		my $code = ref $$glob eq 'CODE' ? $$glob : ref $glob eq 'GLOB' ? *{$glob}{CODE} : undef;
		next unless $code;
		my $cv = B::svref_2object($code);
		my $gv = $cv->GV;
		my $own = ref $gv eq 'B::GV' ? $gv->STASH->NAME . '::' . $gv->NAME : "${package}::$name";
		tell_sub($own, $cv);
	}
	return;
}

sub tell_names {
	return if -e "$folder/names/perl";
	for my $which (qw(odd even)) {
		mkdir "$folder/$which";
		open my $file, '>', "$folder/$which/comes_and_goes.pl" or die;
		print $file +($which eq 'even' ? "\n\n\n" : ''), "sub $which {\nmy (\$next, \@rest) = \@_;\nreturn \$next->(\@rest) + 0;\n}\n1;\n";
		close $file;
		do "$folder/$which/comes_and_goes.pl";
	}
	tell_package('main', {});
	tell_ops('{main}', B::main_root());
	tell_pads('main::x', B::main_cv());
	# (Compiled code has one more line of Perl's after its last one.)
	tell_lines('(eval)', 'evals.pl', 1 .. 3);
	tell_lines($_, '(eval)', 1 .. 100) for '(eval)', map { /^(.+)::[^:]*\t/ ? "${1}::BEGIN" : () } keys %said;
	# Code that has run and is gone: the file level of loaded files, and blocks, which count for their subs.
	my (%files, %texts);
	$files{$_} = 1 for values %INC, map { (split /\t/)[1] } keys %said;
	for my $path (keys %files) {
		open my $file, '<', $path or next;
		$texts{$path} = [<$file>];
	}
	my @everywhere = ('main', map { /^\s*package\s+([\w:]+)/ ? $1 : () } map { @$_ } values %texts);
	for my $path (keys %texts) {
		my @all = @{$texts{$path}};
		my @packages = ('main', map { /^\s*package\s+([\w:]+)/ ? $1 : () } @all);
		tell_lines($_, $path, 1 .. @all + 1) for '(require)', '{block}', '(eval)', '{main}', map { "${_}::BEGIN" } @packages;
		# While a file is compiled, before its package statement, the package is the loading file's.
		my ($says) = grep { $all[$_] =~ /^\s*package\s/ } 0 .. $#all;
		tell_lines("${_}::BEGIN", $path, 1 .. $says // 0) for @everywhere;
	}
	open my $file, '>', "$folder/names/perl.new$$" or die;
	print $file "$_\t", join(',', sort { $a <=> $b } keys %{$said{$_}}), "\n" for sort keys %said;
	close $file;
	rename "$folder/names/perl.new$$", "$folder/names/perl";
	return;
}

require threads if $Config{useithreads};
require POSIX;
@steps = (
	\&plain, \&recurses_some, \&fails, \&fails_for_good, \&sorts, \&sorts_by_sub, \&replaces, \&evals, \&maps, \&closes,
	\&goes_to, \&asks, \&adds_up, \&has_not, \&ends, \&ties
);
@run = (\&burns, \&allocates);
@stand = (\&naps);
tell_names();
if ($Config{useithreads}) {
	my @all = map { threads->create(\&stands) } 3 .. $threads;
	push @all, threads->create(\&churns);
	churns();
	$_->join for @all;
}
else { churns() }
exit if -e "$folder/stop";
exec $^X, $0, @ARGV;
