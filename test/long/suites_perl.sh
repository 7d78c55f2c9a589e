#!/bin/bash
# Perl's core tests under the preload (suites.inc), by the perl that is installed: all of a folder of t/ at a time.
# Left out are those of its sources (t/porting), of the modules beside it, and of its regular expressions those that
# take minutes of pure computing (fold_grind), or a file that only its build makes (uniprops).
. "$(dirname "$0")/suites.inc"

have perl
source_of perl

# What they look for beside themselves: a perl that is built, and its library.
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

# Each by itself, as some end their process.
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
