/* Where threads of this program publish what they work on: a variable in each thread, in whatever module has it
 * among its dynamic symbols. */
#include "engine/context/contexts.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/log.h"
#include "engine/context/context_place.h"
#include "engine/context/process_context.h"
#include "engine/context/thread_context.h"
#include "engine/elf/image_symbols.h"
#include "engine/modules/modules.h"
#include "engine/runtime/runtime_image.h"

#define VARIABLE "otel_thread_ctx_v1"

/* The names are looked after so often; where nothing tells them, they are looked for more seldom. */
#define VISIT_NS 1000000000u
#define MISS_NS  5000000000u

struct candidate {
	/* Of its module; another one may be at the same place later. */
	uintptr_t text;
	uint64_t loaded_ticks;
	Elf64_Sym symbol;
	bool placed;
	struct context_place place;
};

static struct {
	uint64_t newest; /* of the modules that were looked at, when it was loaded */
	bool musl;
	struct candidate candidates[CONTEXT_PLACES_MAX];
	size_t count;
	uint64_t due_ns, search_due_ns;
	bool unknown; /* an attribute was met that has no name */
	struct process_context names;
} all = { .names = PROCESS_CONTEXT_INIT };

/* The C library is told by what its loader is called: which the path may end in, or be a link to. */
static bool is_musl(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strncmp(name, "ld-musl-", 8) || !strcmp(name, "libc.so");
}

static void contexts_publish(void)
{
	struct context_place places[CONTEXT_PLACES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < all.count; i++)
		if (all.candidates[i].placed)
			places[count++] = all.candidates[i].place;
	thread_context_places(places, count);
}

/* True when something is new. */
static bool place(struct candidate *candidate)
{
	const struct module *module = modules_find(candidate->text);
	struct elf *image;
	int err;

	if (!module || runtime_image_open(&image, module))
		return false;
	err = context_place_find(&candidate->place, image, module->bias, &candidate->symbol,
				 all.musl);
	elf_close(image);
	if (err)
		log_debug("%s: where threads have their %s cannot be told: error %d", module->path,
			  VARIABLE, -err);
	else
		log_debug("%s: threads publish what they work on", module->path);
	candidate->placed = !err;
	return !err;
}

static void contexts_search_module(void *changed, const struct module *module)
{
	struct elf *image;
	Elf64_Sym symbol;
	int err;

	all.musl |= is_musl(module->path);
	if (all.count == CONTEXT_PLACES_MAX || !strcmp(module->path, "[vdso]") ||
	    runtime_image_open(&image, module))
		return;
	err = image_symbol(image, VARIABLE, &symbol);
	elf_close(image);
	if (err || ELF64_ST_TYPE(symbol.st_info) != STT_TLS)
		return;
	all.candidates[all.count++] = (struct candidate){ .text = module->start,
							  .loaded_ticks = module->loaded_ticks,
							  .symbol = symbol };
	*(bool *)changed = true;
}

static bool contexts_drop_unloaded(void)
{
	size_t count = 0, before = all.count;

	for (size_t i = 0; i < all.count; i++)
		if (modules_has(all.candidates[i].text, all.candidates[i].loaded_ticks))
			all.candidates[count++] = all.candidates[i];
	all.count = count;
	return count != before;
}

/* Those that are not placed yet. */
static bool contexts_place_all(void)
{
	bool changed = false;

	for (size_t i = 0; i < all.count; i++)
		changed |= !all.candidates[i].placed && place(&all.candidates[i]);
	return changed;
}

void contexts_search_modules(void)
{
	bool changed = contexts_drop_unloaded();

	modules_since(&all.newest, contexts_search_module, &changed);
	if (contexts_place_all() || changed)
		contexts_publish();
}

static void contexts_refresh_names(uint64_t now_ns)
{
	if (process_context_refresh(&all.names) || now_ns < all.search_due_ns)
		return;
	/* Not there, or not any more. */
	if (process_context_find(&all.names))
		all.search_due_ns = now_ns + MISS_NS;
}

void contexts_update(uint64_t now_ns)
{
	if (!all.count || now_ns < all.due_ns)
		return;
	all.due_ns = now_ns + VISIT_NS;
	if (contexts_place_all())
		contexts_publish();
	contexts_refresh_names(now_ns);
	all.unknown = false;
}

const char *contexts_attribute_name(uint8_t number)
{
	const char *key = process_context_attribute_name(&all.names, number);

	/* It may have been told since. */
	if (!key && !all.unknown) {
		if (!process_context_refresh(&all.names))
			process_context_find(&all.names);
		key = process_context_attribute_name(&all.names, number);
		all.unknown = !key;
	}
	return key;
}
