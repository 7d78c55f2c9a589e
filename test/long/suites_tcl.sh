#!/bin/bash
# Tcl's own tests under the preload (suites.inc), of system functions: the event loop, timers, channels, sockets,
# processes, files. Tests of the language only (strings, lists, expressions, namespaces), and tests that need the
# commands of Tcl's own test program, are omitted.
. "$(dirname "$0")/suites.inc"

have tclsh8.6
source_of tcl8.6

part() {
	local name=$1
	shift
	(cd "$work/tmp" && "$@" "${bounded[@]}" tclsh8.6 "$source/tests/$name.test")
}

failing() {
	awk '/^==== .* FAILED$/ { print $2 } /^[a-zA-Z0-9]*\.test:[ \t]*Total/ { ended = 1 } END { if (!ended) print "all" }'
}

compare chan chanio clock cmdAH cmdMZ encoding env event exec fCmd fileName fileSystem http http11 httpold \
	interp io ioCmd ioTrans iogt link load main notify pid safe socket source thread timer tm trace unixFCmd \
	unixFile unixInit unixNotfy unload zlib
