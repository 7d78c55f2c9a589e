/* Frames of an address, from DWARF. */
#include "decoder/symbolize/dwarf_frames.h"

#include <stdlib.h>

#include "core/buf.h"

/* Find the compilation unit of ADDRESS. */
static bool dwarf_find_unit(const struct dwarf_library *lib, Dwarf *dwarf, uint64_t address,
			    Dwarf_Die *unit)
{
	Dwarf_Off at = 0, next;
	size_t header;

	if (lib->dwarf_addrdie(dwarf, address, unit))
		return true;
	/* clang writes no .debug_aranges, so ask each unit. */
	while (!lib->dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL)) {
		if (lib->dwarf_offdie(dwarf, at + header, unit) &&
		    lib->dwarf_haspc(unit, address) > 0)
			return true;
		if (next <= at)
			break;
		at = next;
	}
	return false;
}

static const char *die_string(const struct dwarf_library *lib, Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute space;

	if (!lib->dwarf_attr_integrate(die, attribute, &space))
		return NULL;
	return lib->dwarf_formstring(&space);
}

/* Move from a function's code, or an inlined copy, to its declaration. */
static void die_follow_origin(const struct dwarf_library *lib, Dwarf_Die *die)
{
	static const unsigned links[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Attribute space;
	Dwarf_Die next;

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (lib->dwarf_attr(die, links[i], &space) && lib->dwarf_formref_die(&space, &next))
			*die = next;
}

/* Returns the name of SCOPE as a prefix of its members' names; NULL for a scope without prefix. */
static const char *scope_name(const struct dwarf_library *lib, Dwarf_Die *scope)
{
	int tag = lib->dwarf_tag(scope);
	const char *name;

	if (tag != DW_TAG_namespace && tag != DW_TAG_class_type && tag != DW_TAG_structure_type &&
	    tag != DW_TAG_union_type)
		return NULL;
	name = die_string(lib, scope, DW_AT_name);
	return name || tag != DW_TAG_namespace ? name : "(anonymous namespace)";
}

#define QUALIFIED_MAX 4096

/* Returns NAME with the namespaces and classes around DIE as prefix. */
static const char *die_qualified_name(const struct dwarf_library *lib, Dwarf_Die *die,
				      const char *name, struct intern *names)
{
	struct buf text = BUF_INIT(QUALIFIED_MAX);
	Dwarf_Die declared = *die, *scopes = NULL;
	uint32_t id = 0;
	int count;

	die_follow_origin(lib, &declared);
	count = lib->dwarf_getscopes_die(&declared, &scopes);
	for (int i = count - 1; i > 0; i--) {
		const char *part = scope_name(lib, &scopes[i]);

		if (part && buf_printf(&text, "%s::", part))
			break;
	}
	if (text.length && !buf_append_string(&text, name))
		id = intern(names, text.data, text.length);
	if (count > 0)
		free(scopes);
	buf_free(&text);
	return id ? intern_text(names, id) : name;
}

/* Returns the linkage name. C++ functions with internal linkage have none; theirs is composed. */
static const char *die_name(const struct dwarf_library *lib, Dwarf_Die *die, struct intern *names)
{
	const char *name = die_string(lib, die, DW_AT_linkage_name);

	if (!name)
		name = die_string(lib, die, DW_AT_MIPS_linkage_name);
	if (name)
		return name;
	name = die_string(lib, die, DW_AT_name);
	return name ? die_qualified_name(lib, die, name, names) : NULL;
}

static uint64_t die_number(const struct dwarf_library *lib, Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute space;
	Dwarf_Word number;

	if (!lib->dwarf_attr(die, attribute, &space) || lib->dwarf_formudata(&space, &number))
		return 0;
	return number;
}

/* Get the source line of ADDRESS. */
static void address_source_line(const struct dwarf_library *lib, Dwarf_Die *unit, uint64_t address,
				struct debug_frame *place)
{
	Dwarf_Line *row = lib->dwarf_getsrc_die(unit, address);
	int line;

	*place = (struct debug_frame){ .name = NULL };
	if (!row)
		return;
	place->file = lib->dwarf_linesrc(row, NULL, NULL);
	if (!lib->dwarf_lineno(row, &line) && line > 0)
		place->line = (uint32_t)line;
}

/* Get the line of the call to the function INLINED. */
static void die_call_line(const struct dwarf_library *lib, Dwarf_Die *unit, Dwarf_Die *inlined,
			  struct debug_frame *place)
{
	uint64_t line = die_number(lib, inlined, DW_AT_call_line);
	uint64_t file = die_number(lib, inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t count;

	*place = (struct debug_frame){ .line = line <= INT32_MAX ? (uint32_t)line : 0 };
	if (!lib->dwarf_getsrcfiles(unit, &files, &count) && file < count)
		place->file = lib->dwarf_filesrc(files, file, NULL, NULL);
}

/* Get the scopes around ADDRESS in the machine code, innermost first. Release *SCOPES with free(). */
static int address_scopes(const struct dwarf_library *lib, Dwarf_Die *unit, uint64_t address,
			  Dwarf_Die **scopes)
{
	int count = lib->dwarf_getscopes(unit, address, scopes);
	Dwarf_Die innermost;

	if (count <= 0)
		return 0;
	/* For an inlined function these are the scopes in the source. The second call returns those in the code. */
	innermost = (*scopes)[0];
	free(*scopes);
	count = lib->dwarf_getscopes_die(&innermost, scopes);
	return count < 0 ? 0 : count;
}

size_t dwarf_frames(const struct dwarf_library *lib, Dwarf *dwarf, struct intern *names,
		    uint64_t address, struct debug_frame frames[DEBUG_FRAMES_MAX])
{
	Dwarf_Die unit, *scopes = NULL;
	struct debug_frame place;
	size_t found = 0;
	int count, tag = 0;

	if (!dwarf_find_unit(lib, dwarf, address, &unit))
		return 0;
	address_source_line(lib, &unit, address, &place);
	count = address_scopes(lib, &unit, address, &scopes);
	for (int i = 0; i < count && tag != DW_TAG_subprogram; i++) {
		tag = lib->dwarf_tag(&scopes[i]);
		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		/* If there are too many, the last entry is the outermost function's. */
		if (found == DEBUG_FRAMES_MAX)
			found--;
		frames[found] = place;
		frames[found++].name = die_name(lib, &scopes[i], names);
		if (tag == DW_TAG_inlined_subroutine)
			die_call_line(lib, &unit, &scopes[i], &place);
	}
	if (count)
		free(scopes);
	/* Assembler code has lines but no functions. */
	if (tag != DW_TAG_subprogram && place.line && found < DEBUG_FRAMES_MAX)
		frames[found++] = place;
	return found;
}
