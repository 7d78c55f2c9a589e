/* Formats a stack as file offsets, from within malloc.
 *
 * The loader's list of modules is protected by the loader's lock. Another thread may hold that lock
 * while it waits for this one. So the list comes from the kernel. */
#include "engine/memory/mem_stack_text.h"

#include <string.h>

#include "core/format.h"
#include "core/fd.h"
#include "core/system.h"
#include "engine/runtime/frame_table.h"

#define FRAMES_MAX 16
#define NAME_BYTES 32

struct place {
	uintptr_t pc, base;
	char name[NAME_BYTES]; /* of the file, without its directory */
};

struct places {
	struct place place[FRAMES_MAX];
	size_t count;
	/* The file whose mappings are being read, and their start. */
	uintptr_t base;
	uintptr_t inode;
};

/* Read a number with lower-case digits in BASE at *TEXT, and move *TEXT past it. */
static uintptr_t read_number(const char **text, unsigned base)
{
	static const char digits[] = "0123456789abcdef";
	uintptr_t number = 0;
	const char *digit;

	while (**text && (digit = memchr(digits, **text, base))) {
		number = number * base + (uintptr_t)(digit - digits);
		++*text;
	}
	return number;
}

/* "start-end perms offset dev inode path", addresses ascending. */
static void places_read_line(struct places *places, const char *line)
{
	const char *name, *rest = line;
	uintptr_t start, end, inode;

	start = read_number(&rest, 16);
	rest += *rest == '-';
	end = read_number(&rest, 16);
	for (int field = 0; field < 3 && *rest; field++) /* perms, offset, dev */
		rest += 1 + strcspn(rest + 1, " ");
	rest += *rest == ' ';
	inode = read_number(&rest, 10);
	if (!inode || inode != places->inode)
		places->base = start;
	places->inode = inode;
	rest += strspn(rest, " ");
	name = strrchr(rest, '/');
	name = name ? name + 1 : rest;
	for (size_t i = 0; i < places->count; i++) {
		struct place *p = &places->place[i];

		if (p->pc < start || p->pc >= end)
			continue;
		p->base = places->base;
		format_text(p->name, sizeof(p->name), "%s", *name ? name : "[anonymous]");
	}
}

static void places_read_maps(struct places *places)
{
	char text[1024];
	size_t held = 0;
	ssize_t got;
	char *end;
	int fd = fd_raise_result(system_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0));

	if (fd < 0)
		return;
	while ((got = system_read(fd, text + held, sizeof(text) - 1 - held)) > 0) {
		held += (size_t)got;
		text[held] = '\0';
		while ((end = strchr(text, '\n'))) {
			*end++ = '\0';
			places_read_line(places, text);
			held -= (size_t)(end - text);
			memmove(text, end, held + 1);
		}
		if (held == sizeof(text) - 1)
			held = 0; /* drop a path of that length */
	}
	system_close(fd);
}

void mem_stack_text(char *text, size_t size, const uintptr_t *pcs, size_t depth)
{
	struct places places = { .count = depth < FRAMES_MAX ? depth : FRAMES_MAX };
	struct script_frame frame;
	size_t used = 0, wrote;

	for (size_t i = 0; i < places.count; i++)
		places.place[i].pc = pcs[i];
	places_read_maps(&places);
	text[0] = '\0';
	for (size_t i = 0; i < places.count; i++) {
		const struct place *p = &places.place[i];

		if (frame_table_find(p->pc, &frame))
			wrote = format_text(text + used, size - used, "%s%s (%s:%u)",
					    i ? " < " : "", frame.name, frame.file, frame.line);
		else
			wrote = format_text(text + used, size - used, "%s%s+0x%lx", i ? " < " : "",
					    p->name[0] ? p->name : "[unmapped]",
					    (unsigned long)(p->pc - p->base));
		if (wrote == size - used - 1) { /* possibly truncated: drop it */
			text[used] = '\0';
			break;
		}
		used += wrote;
	}
}
