/* Finds where threads of this program publish their context: in a thread-local variable of any
 * module that exports it. */
#include "engine/context/contexts.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/log.h"
#include "engine/context/context_place.h"
#include "engine/context/process_context.h"
#include "engine/context/thread_context.h"
#include "engine/elf/image_symbols.h"
#include "engine/modules/modules.h"
#include "engine/runtime/go/go_labels.h"
#include "engine/runtime/runtime_image.h"

#define VARIABLE "otel_thread_ctx_v1"

/* Interval of updates of the names, and the longer interval of searches while they are not
 * published. */
#define VISIT_NS 1000000000u
#define MISS_NS  5000000000u

struct candidate {
	/* Identify the module; another one may be loaded at the same address later. */
	uintptr_t text;
	uint64_t loaded_ticks;
	Elf64_Sym symbol;
	bool placed;
	struct context_place place;
};

static struct {
	uint64_t newest; /* load time of the newest module that was searched */
	bool musl;
	struct candidate candidates[CONTEXT_PLACES_MAX];
	size_t count;
	uint64_t due_ns, search_due_ns;
	bool unknown; /* an attribute without a name was found */
	struct process_context names;
} contexts = { .names = PROCESS_CONTEXT_INIT };

/* True for musl, which is recognized by the name of its loader. The path may end in that name, or
 * in that of a link to it. */
static bool is_musl(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strncmp(name, "ld-musl-", 8) || !strcmp(name, "libc.so");
}

static void contexts_publish(void)
{
	struct context_place places[CONTEXT_PLACES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < contexts.count; i++)
		if (contexts.candidates[i].placed)
			places[count++] = contexts.candidates[i].place;
	thread_context_places(places, count);
}

/* Find the address of one variable. Returns true if it was found. */
static bool contexts_place_one(struct candidate *candidate)
{
	const struct module *module = modules_find(candidate->text);
	struct elf *image;
	int err;

	if (!module || runtime_image_open(&image, module))
		return false;
	err = context_place_find(&candidate->place, image, module->bias, &candidate->symbol,
				 contexts.musl);
	elf_close(image);
	if (err)
		log_debug("%s: cannot locate the thread-local variable %s: error %d", module->path,
			  VARIABLE, -err);
	else
		log_debug("%s: threads publish their context", module->path);
	candidate->placed = !err;
	return !err;
}

static void search_go_labels(struct elf *image, const struct module *module)
{
	struct go_labels_layout layout;
	int err = go_labels_find(&layout, image, module);

	if (!err)
		go_labels_use(&layout);
	else if (err == -ENOTSUP)
		log_info("%s: labels of goroutines are not read: its version of Go is not known",
			 module->path);
	else if (err != -ENOENT)
		log_debug("%s: cannot find the labels of goroutines: error %d", module->path, -err);
}

static void contexts_search_module(void *changed, const struct module *module)
{
	struct elf *image;
	Elf64_Sym symbol;
	int err;

	contexts.musl |= is_musl(module->path);
	if (!strcmp(module->path, "[vdso]") || runtime_image_open(&image, module))
		return;
	search_go_labels(image, module);
	err = image_symbol(image, VARIABLE, &symbol);
	elf_close(image);
	if (contexts.count == CONTEXT_PLACES_MAX || err || ELF64_ST_TYPE(symbol.st_info) != STT_TLS)
		return;
	contexts.candidates[contexts.count++] = (struct candidate){
		.text = module->start, .loaded_ticks = module->loaded_ticks, .symbol = symbol
	};
	*(bool *)changed = true;
}

static bool contexts_drop_unloaded(void)
{
	size_t count = 0, before = contexts.count;

	for (size_t i = 0; i < contexts.count; i++)
		if (modules_has(contexts.candidates[i].text, contexts.candidates[i].loaded_ticks))
			contexts.candidates[count++] = contexts.candidates[i];
	contexts.count = count;
	return count != before;
}

/* Find the addresses that are still unknown. */
static bool contexts_place_all(void)
{
	bool changed = false;

	for (size_t i = 0; i < contexts.count; i++)
		changed |= !contexts.candidates[i].placed &&
			   contexts_place_one(&contexts.candidates[i]);
	return changed;
}

void contexts_search_modules(void)
{
	bool changed = contexts_drop_unloaded();

	modules_since(&contexts.newest, contexts_search_module, &changed);
	if (contexts_place_all() || changed)
		contexts_publish();
}

static void contexts_refresh_names(uint64_t now_ns)
{
	if (process_context_refresh(&contexts.names) || now_ns < contexts.search_due_ns)
		return;
	/* Not published, or not any more. */
	if (process_context_find(&contexts.names))
		contexts.search_due_ns = now_ns + MISS_NS;
}

void contexts_update(uint64_t now_ns)
{
	if (!contexts.count || now_ns < contexts.due_ns)
		return;
	contexts.due_ns = now_ns + VISIT_NS;
	if (contexts_place_all())
		contexts_publish();
	contexts_refresh_names(now_ns);
	contexts.unknown = false;
}

const char *contexts_attribute_name(uint8_t number)
{
	const char *key = process_context_attribute_name(&contexts.names, number);

	/* It may have been published meanwhile. */
	if (!key && !contexts.unknown) {
		if (!process_context_refresh(&contexts.names))
			process_context_find(&contexts.names);
		key = process_context_attribute_name(&contexts.names, number);
		contexts.unknown = !key;
	}
	return key;
}
