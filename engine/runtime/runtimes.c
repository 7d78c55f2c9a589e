/* The interpreters in this process: looks for them when modules came or went. */
#include "engine/runtime/runtimes.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "core/log.h"
#include "engine/modules/modules.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/runtime/python_find.h"

static struct {
	bool unwanted;
	bool found;      /* walks look for PYTHON */
	uint64_t newest; /* of the modules that were looked at, when it was loaded */
	struct python python;
} all;

void runtimes_wanted(bool wanted)
{
	all.unwanted = !wanted;
}

static bool is_there(const struct python *python)
{
	const struct module *module = modules_find(python->text);

	return module && !module->unloaded_ticks && module->start == python->text;
}

/* True when MODULE has an interpreter that walks can look for. */
static bool look_in(const struct module *module)
{
	int err = python_find(&all.python, module);

	if (!err)
		err = mixed_stack_python(&all.python);
	if (err == -ENOTSUP)
		log_debug("%s: frames of this version of Python are not known", module->path);
	else if (err && err != -ENOENT)
		log_debug("%s: cannot be looked at for Python: error %d", module->path, -err);
	else if (!err)
		log_debug("%s: functions of Python %d.%d are shown", module->path,
			  all.python.layout.version >> 8, all.python.layout.version & 255);
	return !err;
}

void runtimes_look(void)
{
	const struct module *const *list;
	uint64_t before = all.newest;
	size_t count;

	if (all.unwanted)
		return;
	if (all.found && !is_there(&all.python)) {
		mixed_stack_python(NULL);
		all.found = false;
	}
	count = modules_list(&list);
	for (size_t i = 0; i < count; i++) {
		const struct module *module = list[i];

		if (module->unloaded_ticks || module->loaded_ticks <= before)
			continue;
		if (module->loaded_ticks > all.newest)
			all.newest = module->loaded_ticks;
		if (!all.found)
			all.found = look_in(module);
	}
}

void runtimes_visit(void)
{
	if (all.found)
		mixed_stack_several(python_find_several(&all.python));
}
