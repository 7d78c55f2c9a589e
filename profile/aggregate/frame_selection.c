/* Selection of the frames that are shown. */
#include "profile/aggregate/frame_selection.h"

#include <string.h>

#include "profile/aggregate/frame_category.h"
#include "profile/aggregate/resolve_frame.h"

/* Internal functions of interpreters, which are between the program's frames: names, or prefixes of
 * names. */
static const struct {
	const char *name;
	bool is_prefix;
} internal_functions[] = {
	/* CPython */
	{ "_PyEval_EvalFrameDefault", true },
	{ "_PyEval_Vector", false },
	{ "_PyFunction_Vectorcall", false },
	{ "_PyObject_Vectorcall", true },
	{ "PyObject_Vectorcall", true },
	{ "_PyObject_VectorcallTstate", true },
	{ "_PyObject_MakeTpCall", false },
	{ "_PyObject_Call", true },
	{ "PyObject_Call", true },
	{ "_PyVectorcall_Call", true },
	{ "PyVectorcall_Call", false },
	{ "cfunction_vectorcall_", true },
	{ "method_vectorcall", true },
	{ "vectorcall_method", false },
	{ "_TAIL_CALL_", true },
	/* V8 */
	{ "[V8]", false },
	{ "Builtins_", true },
	/* Ruby */
	{ "vm_exec", true },
	{ "rb_vm_exec", false },
	{ "vm_call_", true },
	/* PHP */
	{ "execute_ex", false },
	/* Perl */
	{ "Perl_runops_standard", false },
	{ "Perl_runops_debug", false },
	{ "Perl_pp_", true },
	{ "Perl_call_sv", false },
};

/* A line number may follow the name. */
static bool name_matches(const char *name, const char *wanted, bool is_prefix)
{
	size_t length = strlen(wanted);

	return !strncmp(name, wanted, length) &&
	       (is_prefix || !name[length] || name[length] == ':' || name[length] == ' ');
}

/* Whether FRAME is of a language with an interpreter or a virtual machine. The names of a perf map
 * ("jit") may be of any code. */
static bool is_script(const struct resolve *r, const struct frame *frame)
{
	enum jfr_frame_type type = (enum jfr_frame_type)frame->type;

	return jfr_frame_is_script(type) ||
	       (!resolve_is_native(r, type) &&
		strcmp(intern_text(&r->profile->names, frame->module), "jit") != 0);
}

static bool is_internal(const struct profile *profile, const struct frame *frame)
{
	const char *name = intern_text(&profile->names, frame->name);

	for (size_t i = 0; name && i < sizeof(internal_functions) / sizeof(internal_functions[0]);
	     i++)
		if (name_matches(name, internal_functions[i].name, internal_functions[i].is_prefix))
			return true;
	return false;
}

/* Whether a frame of a stack with script functions is shown. */
static bool is_shown(const struct resolve *r, const struct frame *frame)
{
	switch (r->query->frames) {
	case SHOW_ALL:
		return true;
	case SHOW_SCRIPT:
		return is_script(r, frame) && !is_internal(r->profile, frame);
	case SHOW_NATIVE:
		return !is_script(r, frame);
	case SHOW_FOLDED:
		break;
	}
	return !is_internal(r->profile, frame);
}

static bool is_wanted(const struct resolve *r, const struct frame *frame, bool has_scripts)
{
	return !(r->query->folded & 1u << frame->category) && (!has_scripts || is_shown(r, frame));
}

/* Whether one of the COUNT frames at IDS is a script function. */
static bool has_script(const struct resolve *r, const uint32_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (is_script(r, profile_frame(r->profile, ids[i])))
			return true;
	return false;
}

void frame_selection_apply(struct resolve *r, size_t first)
{
	uint32_t *ids = (uint32_t *)(void *)r->stack.data;
	size_t count = r->stack.length / sizeof(*ids), kept = first, wanted = 0;
	bool scripts = has_script(r, ids + first, count - first);
	const struct frame *frame, *inner = NULL;

	if (!r->query->folded && (!scripts || r->query->frames == SHOW_ALL))
		return;
	for (size_t i = first; i < count; i++)
		wanted += is_wanted(r, profile_frame(r->profile, ids[i]), scripts);
	if (!wanted)
		return;
	for (size_t i = first; i < count; i++) {
		frame = profile_frame(r->profile, ids[i]);
		/* A frame keeps the frames that it is inlined into. */
		if (!is_wanted(r, frame, scripts) && !(inner && inner->caller == ids[i])) {
			inner = NULL;
			continue;
		}
		inner = frame;
		ids[kept++] = ids[i];
	}
	r->profile->frames_folded |= scripts && kept < count && r->query->frames == SHOW_SCRIPT;
	r->stack.length = kept * sizeof(*ids);
}
