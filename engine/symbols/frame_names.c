/* Names for the frames of a chunk, from the program's symbols. */
#include "engine/symbols/frame_names.h"

#include <errno.h>
#include <stdlib.h>

#include "core/preload_code.h"
#include "engine/runtime/frame_table.h"
#include "engine/symbols/symbols.h"

int frame_names(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		struct jfr_frame_name *out)
{
	struct symbol *found = calloc(count + 1, sizeof(*found));
	uintptr_t *sites = calloc(count + 1, sizeof(*sites));
	struct symbols *symbols = context;
	struct script_frame frame;
	int err = -ENOMEM;

	if (!found || !sites)
		goto out;
	for (size_t i = 0; i < count; i++)
		sites[i] = is_return[i] ? symbols_call_site(pcs[i]) : pcs[i];
	sites[count] = shared->preload.c_library;
	err = symbols_resolve(symbols, sites, count + !!sites[count], found);
	for (size_t i = 0; !err && i < count; i++) {
		if (pcs[i] == STACK_CALLERS_UNKNOWN) {
			out[i].class_name = "";
			out[i].method_name = STACK_CALLERS_UNKNOWN_NAME;
			out[i].type = JFR_FRAME_NATIVE;
			continue;
		}
		if (frame_table_find(pcs[i], &frame)) {
			out[i].class_name = frame.file;
			out[i].method_name = frame.name;
			out[i].type = (uint8_t)frame.type;
			out[i].line = frame.line;
			continue;
		}
		out[i].class_name = found[i].module;
		out[i].method_name = found[i].name;
		out[i].type = (uint8_t)found[i].type;
		out[i].inlined = found[i].inlined;
		/* Wrapped calls in the preload are shown as calls of the C library. */
		if (preload_code_is_call(sites[i])) {
			out[i].class_name = found[count].module;
			continue;
		}
		/* Readers store it in 31 bits. With debug files they would add the inlined functions once more. */
		if (found[i].link_address <= INT32_MAX && !found[i].inlined)
			out[i].address = (uint32_t)found[i].link_address;
	}
out:
	free(sites);
	free(found);
	return err;
}
