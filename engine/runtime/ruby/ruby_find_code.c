/* Search for the evaluator's functions by the call graph, since a stripped library has no names for
 * them (from 3.3 on). rb_iseq_eval() and rb_iseq_eval_main() are exported, and both end with
 * rb_vm_exec(). By far the largest function that rb_vm_exec() calls is vm_exec_core(). The search
 * table of the unwind information has the function starts. */
#include <errno.h>
#include <stdlib.h>

#include "arch/code.h"
#include "engine/elf/image_symbols.h"
#include "engine/reading/process_memory.h"
#include "engine/runtime/ruby/ruby_find.h"

#define STARTS_MAX    (1u << 20)
#define FUNCTION_MAX  (1u << 20)
#define CALLED_MAX    256
#define CORE_MIN      4096
#define EVALUATOR_MIN 256

/* A table of four-byte offsets from its own start, in the form that all linkers write. */

struct starts {
	size_t count;
	uintptr_t *at; /* sorted addresses */
};

static int compare_addresses(const void *a, const void *b)
{
	const uintptr_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int read_starts(struct starts *starts, struct elf *image, uintptr_t bias)
{
	const Elf64_Phdr *segment = elf_find_segment(image, PT_GNU_EH_FRAME);
	struct {
		uint8_t version, frame, count, table;
		int32_t begin;
		uint32_t rows;
	} header;
	int32_t(*rows)[2];
	uintptr_t base;
	int err;

	if (!segment)
		return -ENOENT;
	base = bias + segment->p_vaddr;
	err = process_memory_read(base, &header, sizeof(header));
	if (err)
		return err;
	if (header.version != 1 || header.count != 0x03 || header.table != 0x3b || !header.rows ||
	    header.rows > STARTS_MAX)
		return -ENOTSUP;
	rows = malloc(header.rows * sizeof(*rows));
	starts->at = malloc(header.rows * sizeof(*starts->at));
	err = rows && starts->at ? process_memory_read(base + sizeof(header), rows,
						       header.rows * sizeof(*rows))
				 : -ENOMEM;
	for (uint32_t i = 0; i < header.rows && !err; i++)
		starts->at[i] = base + (uintptr_t)(intptr_t)rows[i][0];
	free(rows);
	if (err) {
		free(starts->at);
		return err;
	}
	starts->count = header.rows;
	qsort(starts->at, starts->count, sizeof(*starts->at), compare_addresses);
	return 0;
}

/* Size of the function that starts at ADDRESS; 0 if none starts there. */
static uintptr_t function_size(const struct starts *starts, uintptr_t address)
{
	const uintptr_t *at = bsearch(&address, starts->at, starts->count, sizeof(*starts->at),
				      compare_addresses);

	return at && at + 1 < starts->at + starts->count ? at[1] - at[0] : 0;
}

struct called {
	size_t count;
	uintptr_t at[CALLED_MAX];
};

/* Find the functions that the one at ADDRESS, of SIZE bytes, calls or ends with. Bytes that look
 * like a call but are none seldom lead to the start of a function. */
static void called_read(struct called *called, const struct starts *starts, uintptr_t address,
			uintptr_t size)
{
	uint8_t *code;
	uintptr_t target;

	called->count = 0;
	if (!size || size > FUNCTION_MAX)
		return;
	code = malloc(size);
	if (code && !process_memory_read(address, code, size))
		for (uintptr_t i = 0; i + 5 <= size && called->count < CALLED_MAX; i++) {
			target = arch_branch_target(code + i, address + i);
			if (target - address >= size && function_size(starts, target))
				called->at[called->count++] = target;
		}
	free(code);
}

static bool called_has(const struct called *called, uintptr_t address)
{
	for (size_t i = 0; i < called->count; i++)
		if (called->at[i] == address)
			return true;
	return false;
}

/* The largest function of ONE with at least MIN bytes; it must also be in OTHER unless that is
 * NULL. 0 if there is none. */
static uintptr_t called_largest(const struct starts *starts, const struct called *one,
				const struct called *other, uintptr_t min)
{
	uintptr_t found = 0;

	for (size_t i = 0; i < one->count; i++)
		if ((!other || called_has(other, one->at[i])) &&
		    function_size(starts, one->at[i]) >= min) {
			min = function_size(starts, one->at[i]);
			found = one->at[i];
		}
	return found;
}

static void called_read_all(struct called *called, const struct starts *starts, struct elf *image,
			    uintptr_t bias, const char *name)
{
	Elf64_Sym symbol;

	called->count = 0;
	if (!image_symbol(image, name, &symbol))
		called_read(called, starts, bias + symbol.st_value, symbol.st_size);
}

static void find_by_calls(struct ruby *ruby, const struct starts *starts, struct elf *image,
			  uintptr_t bias, struct called *one, struct called *other)
{
	Elf64_Sym symbol;
	uintptr_t found;

	if (!image_symbol(image, "rb_vm_exec", &symbol)) {
		ruby->base.evaluator = bias + symbol.st_value;
		ruby->base.evaluator_end = ruby->base.evaluator + symbol.st_size;
	} else {
		called_read_all(one, starts, image, bias, "rb_iseq_eval");
		called_read_all(other, starts, image, bias, "rb_iseq_eval_main");
		found = called_largest(starts, one, other, EVALUATOR_MIN);
		ruby->base.evaluator = found;
		ruby->base.evaluator_end = found + function_size(starts, found);
	}
	if (!ruby->base.evaluator)
		return;
	called_read(one, starts, ruby->base.evaluator,
		    ruby->base.evaluator_end - ruby->base.evaluator);
	found = called_largest(starts, one, NULL, CORE_MIN);
	if (found) {
		ruby->core = found;
		ruby->core_end = found + function_size(starts, found);
	}
}

void ruby_find_evaluator(struct ruby *ruby, struct elf *image, uintptr_t bias)
{
	struct called *called = malloc(2 * sizeof(*called));
	struct starts starts = { 0 };

	if (called && !read_starts(&starts, image, bias)) {
		find_by_calls(ruby, &starts, image, bias, &called[0], &called[1]);
		free(starts.at);
	}
	free(called);
}
