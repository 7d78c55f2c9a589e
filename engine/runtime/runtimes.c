/* Interpreters in this process: searches for them when modules are loaded or unloaded. */
#include "engine/runtime/runtimes.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/log.h"
#include "engine/modules/modules.h"
#include "engine/runtime/jvm/jvm_find.h"
#include "engine/runtime/mixed_stack.h"
#include "engine/runtime/perl/perl_find.h"
#include "engine/runtime/php/php_find.h"
#include "engine/runtime/python/python_find.h"
#include "engine/runtime/python/python_gil.h"
#include "engine/runtime/ruby/ruby_find.h"
#include "engine/runtime/runtime_image.h"
#include "engine/runtime/v8/v8_find.h"

union found {
	struct runtime base;
	struct python python;
	struct v8 v8;
	struct ruby ruby;
	struct jvm jvm;
	struct php php;
	struct perl perl;
};

static int find_python(union found *found, struct elf *image, const struct module *module)
{
	return python_find(&found->python, image, module);
}

static bool visit_python(union found *found)
{
	mixed_stack_several(python_find_several(&found->python));
	return false;
}

static int find_v8(union found *found, struct elf *image, const struct module *module)
{
	return v8_find(&found->v8, image, module);
}

static int find_ruby(union found *found, struct elf *image, const struct module *module)
{
	return ruby_find(&found->ruby, image, module);
}

static bool visit_ruby(union found *found)
{
	return ruby_find_more(&found->ruby);
}

static int find_jvm(union found *found, struct elf *image, const struct module *module)
{
	return jvm_find(&found->jvm, image, module);
}

static bool visit_jvm(union found *found)
{
	return jvm_find_names(&found->jvm);
}

static int find_php(union found *found, struct elf *image, const struct module *module)
{
	return php_find(&found->php, image, module);
}

static int find_perl(union found *found, struct elf *image, const struct module *module)
{
	return perl_find(&found->perl, image, module);
}

/* Search of each kind in a module. Returns 0, -ENOENT if it is not there, -ENOTSUP if the version
 * is not known, or -errno. */
static const struct {
	const char *name;
	int (*find)(union found *found, struct elf *image, const struct module *module);
	bool (*visit)(union found *found); /* returns whether more is known now; NULL: not needed */
	size_t bytes;
} kinds[RUNTIME_KINDS] = {
	[RUNTIME_PYTHON] = { "Python", find_python, visit_python, sizeof(struct python) },
	[RUNTIME_V8] = { "JavaScript", find_v8, NULL, sizeof(struct v8) },
	[RUNTIME_RUBY] = { "Ruby", find_ruby, visit_ruby, sizeof(struct ruby) },
	[RUNTIME_JVM] = { "Java", find_jvm, visit_jvm, sizeof(struct jvm) },
	[RUNTIME_PHP] = { "PHP", find_php, NULL, sizeof(struct php) },
	[RUNTIME_PERL] = { "Perl", find_perl, NULL, sizeof(struct perl) },
};

static struct {
	bool is_unwanted;
	uint64_t newest; /* load time of the newest module that was searched */
	struct {
		bool is_found;         /* walks search for it */
		uint64_t loaded_ticks; /* load time of its module */
		union found found;
	} kinds[RUNTIME_KINDS];
} runtimes;

void runtimes_wanted(bool wanted)
{
	runtimes.is_unwanted = !wanted;
}

/* Search MODULE, whose image is IMAGE, for KIND. */
static void search_kind(enum runtime_kind kind, struct elf *image, const struct module *module)
{
	union found found;
	int err;

	/* mixed_stack.c compares it with its earlier copies, including the padding. */
	memset(&found, 0, sizeof(found));
	err = kinds[kind].find(&found, image, module);
	if (!err)
		err = mixed_stack_look_for(kind, &found.base, kinds[kind].bytes);
	if (err == -ENOTSUP)
		log_info("%s: frames of this version of %s are not supported", module->path,
			 kinds[kind].name);
	else if (err && err != -ENOENT)
		log_debug("%s: cannot search for %s: error %d", module->path, kinds[kind].name,
			  -err);
	if (err)
		return;
	log_debug("%s: functions of %s are shown", module->path, kinds[kind].name);
	runtimes.kinds[kind].found = found;
	runtimes.kinds[kind].loaded_ticks = module->loaded_ticks;
	runtimes.kinds[kind].is_found = true;
}

static void search_module(void *unused, const struct module *module)
{
	struct elf *image;
	int err;

	(void)unused;
	if (!strcmp(module->path, "[vdso]"))
		return;
	err = runtime_image_open(&image, module);
	if (err) {
		log_debug("%s: cannot search for interpreters: error %d", module->path, -err);
		return;
	}
	for (size_t kind = 0; kind < RUNTIME_KINDS; kind++)
		if (!runtimes.kinds[kind].is_found)
			search_kind((enum runtime_kind)kind, image, module);
	elf_close(image);
}

void runtimes_scan(void)
{
	if (runtimes.is_unwanted)
		return;
	for (size_t kind = 0; kind < RUNTIME_KINDS; kind++)
		if (runtimes.kinds[kind].is_found &&
		    !modules_has(runtimes.kinds[kind].found.base.text,
				 runtimes.kinds[kind].loaded_ticks)) {
			mixed_stack_look_for((enum runtime_kind)kind, NULL, 0);
			runtimes.kinds[kind].is_found = false;
			runtimes.newest = 0; /* another module may have it */
		}
	modules_since(&runtimes.newest, search_module, NULL);
}

void runtimes_visit(void)
{
	for (size_t kind = 0; kind < RUNTIME_KINDS; kind++)
		if (runtimes.kinds[kind].is_found && kinds[kind].visit &&
		    kinds[kind].visit(&runtimes.kinds[kind].found))
			mixed_stack_look_for((enum runtime_kind)kind,
					     &runtimes.kinds[kind].found.base, kinds[kind].bytes);
}

bool runtimes_lock_at(uintptr_t futex, pid_t *holder)
{
	*holder = 0;
	return runtimes.kinds[RUNTIME_PYTHON].is_found &&
	       python_gil_at(&runtimes.kinds[RUNTIME_PYTHON].found.python, futex, holder);
}

bool runtimes_one_begins(void)
{
	return runtimes.kinds[RUNTIME_RUBY].is_found &&
	       ruby_is_beginning(&runtimes.kinds[RUNTIME_RUBY].found.ruby);
}
