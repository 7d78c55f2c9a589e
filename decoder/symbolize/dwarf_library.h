/* libdw of elfutils, which reads debug information. It is loaded on demand, as some machines do not have it. */
#ifndef DECODER_SYMBOLIZE_DWARF_LIBRARY_H
#define DECODER_SYMBOLIZE_DWARF_LIBRARY_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>

#define DWARF_FUNCTIONS(X)      \
	X(elf_version)          \
	X(dwarf_begin)          \
	X(dwarf_end)            \
	X(dwarf_addrdie)        \
	X(dwarf_nextcu)         \
	X(dwarf_offdie)         \
	X(dwarf_haspc)          \
	X(dwarf_getscopes)      \
	X(dwarf_getscopes_die)  \
	X(dwarf_tag)            \
	X(dwarf_attr)           \
	X(dwarf_attr_integrate) \
	X(dwarf_formstring)     \
	X(dwarf_formref_die)    \
	X(dwarf_formudata)      \
	X(dwarf_getsrcfiles)    \
	X(dwarf_filesrc)        \
	X(dwarf_getsrc_die)     \
	X(dwarf_lineno)         \
	X(dwarf_linesrc)        \
	X(dwarf_setalt)         \
	X(dwelf_dwarf_gnu_debugaltlink)

/* Functions of libdw, under their own names. */
struct dwarf_library {
#define DWARF_MEMBER(name) __typeof__(name) *name;
	DWARF_FUNCTIONS(DWARF_MEMBER)
#undef DWARF_MEMBER
};

/* Returns the library, loaded by the first call; NULL after a message. One thread at a time. */
const struct dwarf_library *dwarf_library(void);

#endif
