/* Selection of the frames that are shown. */
#include "profile/aggregate/frame_selection.h"

#include <string.h>

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

static bool is_script(const struct frame *frame)
{
	return jfr_frame_is_script((enum jfr_frame_type)frame->type);
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

static bool is_wanted(const struct profile *profile, enum frames_shown shown,
		      const struct frame *frame)
{
	switch (shown) {
	case SHOW_SCRIPT:
		return is_script(frame) && !is_internal(profile, frame);
	case SHOW_NATIVE:
		return !is_script(frame);
	case SHOW_FOLDED:
	case SHOW_ALL:
		break;
	}
	return !is_internal(profile, frame);
}

void frame_selection_apply(struct resolve *r)
{
	enum frames_shown shown = r->query->frames;
	uint32_t *ids = (uint32_t *)(void *)r->stack.data;
	size_t count = r->stack.length / sizeof(*ids), kept = 0, wanted = 0;
	const struct frame *frame, *inner = NULL;
	bool scripts = false;

	if (shown == SHOW_ALL)
		return;
	for (size_t i = 0; i < count; i++) {
		frame = profile_frame(r->profile, ids[i]);
		scripts |= is_script(frame);
		wanted += is_wanted(r->profile, shown, frame);
	}
	if (!scripts || !wanted)
		return;
	for (size_t i = 0; i < count; i++) {
		frame = profile_frame(r->profile, ids[i]);
		/* A frame keeps the frames that it is inlined into. */
		if (!is_wanted(r->profile, shown, frame) && !(inner && inner->caller == ids[i])) {
			inner = NULL;
			continue;
		}
		inner = frame;
		ids[kept++] = ids[i];
	}
	r->stack.length = kept * sizeof(*ids);
}
