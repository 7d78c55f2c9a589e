/* engine/modules/permanent_modules: the program and its needed libraries are permanent; libraries
 * that it opens are not. */
#include "engine/modules/permanent_modules.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "test/fixtures/suite.h"

static struct loader_list loaded;

static void mark(void)
{
	ck_assert_int_eq(loader_list_read(&loaded), 0);
	ck_assert_int_eq(permanent_modules_mark(&loaded), 0);
}

static bool lasts(const void *inside)
{
	struct link_map *map;
	Dl_info info;

	ck_assert(dladdr1(inside, &info, (void **)&map, RTLD_DL_LINKMAP));
	for (size_t i = 0; i < loaded.count; i++)
		if (loaded.nodes[i].address == (uintptr_t)map)
			return loaded.images[i].is_permanent;
	ck_abort_msg("%s is not there", info.dli_fname);
}

START_TEST(program_and_what_it_needs)
{
	mark();
	ck_assert(lasts((const void *)getauxval(AT_ENTRY)));
	ck_assert(lasts(dlsym(RTLD_DEFAULT, "qsort")));
	loader_list_free(&loaded);
}
END_TEST

static char directory[] = "/tmp/lasting-test-XXXXXX";

/* A library NAME with a function FUNCTION. */
static bool compile(const char *name, const char *function, const char *flags)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "cd %s && echo 'int %s(void) { return 1; }' >code.c && "
		 "cc -shared -fPIC -Wl,-rpath,%s -o %s code.c %s",
		 directory, function, directory, name, flags);
	return !system(command);
}

static const void *function_of(const char *name, const char *function)
{
	char path[128];
	void *library;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	library = dlopen(path, RTLD_NOW);
	ck_assert_msg(library != NULL, "%s", dlerror());
	return dlsym(library, function);
}

/* Not even with the name of a needed library; but a library linked with nodelete is permanent, with
 * the libraries that it needs. */
START_TEST(what_is_opened)
{
	const void *plain, *same_name, *staying, *needed;
	char command[64];

	ck_assert_ptr_nonnull(mkdtemp(directory));
	if (!compile("plain.so", "plain", "") || !compile("libc.so.6", "same_name", "") ||
	    !compile("needed.so", "needed", "") ||
	    !compile("staying.so", "staying",
		     "-Wl,-z,nodelete -Wl,--no-as-needed -L. -l:needed.so"))
		goto out; /* no compiler: the other test has checked the rest */
	plain = function_of("plain.so", "plain");
	same_name = function_of("libc.so.6", "same_name");
	staying = function_of("staying.so", "staying");
	needed = function_of("needed.so", "needed");
	mark();
	ck_assert(!lasts(plain));
	ck_assert(!lasts(same_name));
	ck_assert(lasts(staying));
	ck_assert(lasts(needed));
	loader_list_free(&loaded);
out:
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("lasting modules");

	tcase_add_test(tests, program_and_what_it_needs);
	tcase_add_test(tests, what_is_opened);
	return suite_run(tests);
}
