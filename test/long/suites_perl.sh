#!/bin/bash
# Perl's core tests under the preload (suites.inc), with the installed perl: a whole folder of t/ at a time. Omitted
# are the tests of its sources (t/porting) and of the bundled modules. Of the regular expressions, tests with minutes
# of pure computing (fold_grind), or that need a file of its build (uniprops), are omitted.
. "$(dirname "$0")/suites.inc"

have perl
source_of perl

# The files that they search next to themselves: a built perl, and its library.
tree=$work/tree
mkdir -p "$tree/lib"
cp -r "$source/t" "$tree/"
for file in MANIFEST patchlevel.h Porting regen_perly.pl perl.h embed.fnc; do
	[ ! -e "$source/$file" ] || cp -r "$source/$file" "$tree/"
done
perl -e 'print "$_\n" for reverse grep { m{/usr/(lib|share).*/perl(-base)?(/5|$)} } @INC' | while read -r folder; do
	cp -rsf "$folder/." "$tree/lib/" 2>/dev/null
done
ln -s "$(type -P perl)" "$tree/t/perl"
ln -s "$(type -P perl)" "$tree/perl"

# Each alone, because some end their process.
part() {
	local folder=$1 file
	shift
	cd "$tree/t" || return
	for file in "$folder"/*.t; do
		case $file in re/fold_grind_* | re/uniprops*) continue ;; esac
		echo "file $file"
		"$@" timeout -k 5 300 ./perl -I../lib "$file"
		echo "status $?"
	done
	cd - >/dev/null || return
}

failing() {
	awk '$1 == "file" { file = $2 } /^not ok / && !/# *(TODO|todo)/ { print file, $3 }
		$1 == "status" && $2 != 0 { print file, "status", $2 } $1 == "status" { ended = 1 }
		END { if (!ended) print "all" }'
}

compare base cmd comp io op opbasic mro lib uni re
