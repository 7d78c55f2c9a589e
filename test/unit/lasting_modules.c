/* engine/modules/lasting_modules: the program and what it needs are told of, with what is in memory there;
 * what it opens is not. */
#include "engine/modules/lasting_modules.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "test/fixtures/suite.h"

#define TOLD_MAX 64

static struct told {
	const uint8_t *header;
	uintptr_t low, high;
} told[TOLD_MAX];
static size_t told_count;

static void take(const uint8_t *header, uintptr_t low, uintptr_t high)
{
	ck_assert_uint_lt(told_count, TOLD_MAX);
	ck_assert_uint_le(low, (uintptr_t)header);
	ck_assert_uint_gt(high, (uintptr_t)header);
	ck_assert_uint_eq(header[0], 1); /* its version */
	told[told_count++] = (struct told){ header, low, high };
}

static void tell(void)
{
	struct loader_list loaded;

	ck_assert_int_eq(loader_list_read(&loaded), 0);
	ck_assert_int_eq(lasting_modules_each(&loaded, take), 0);
	loader_list_free(&loaded);
}

/* Was the module with this load address told of? */
struct question {
	uintptr_t bias;
	bool is_lasting;
};

static int ask(struct dl_phdr_info *info, size_t size, void *data)
{
	struct question *question = data;
	uintptr_t header;

	(void)size;
	if (info->dlpi_addr != question->bias)
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_GNU_EH_FRAME)
			continue;
		header = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		for (size_t j = 0; j < told_count; j++)
			if ((uintptr_t)told[j].header == header)
				question->is_lasting = true;
	}
	return 1;
}

static bool lasts(const void *inside)
{
	struct question question = { 0 };
	struct link_map *map;
	Dl_info info;

	ck_assert(dladdr1(inside, &info, (void **)&map, RTLD_DL_LINKMAP));
	question.bias = map->l_addr;
	ck_assert_int_eq(dl_iterate_phdr(ask, &question), 1);
	return question.is_lasting;
}

START_TEST(program_and_what_it_needs)
{
	tell();
	ck_assert(lasts((const void *)getauxval(AT_ENTRY)));
	ck_assert(lasts(dlsym(RTLD_DEFAULT, "qsort")));
	ck_assert_uint_ge(told_count, 2);
}
END_TEST

static char directory[] = "/tmp/lasting-test-XXXXXX";

/* A library NAME, whose function is called FUNCTION. */
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

/* Not even under the name of one that is needed; but what asks to stay, and what that needs. */
START_TEST(what_is_opened)
{
	const void *plain, *same_name, *staying, *needed;
	char command[64];

	ck_assert_ptr_nonnull(mkdtemp(directory));
	if (!compile("plain.so", "plain", "") || !compile("libc.so.6", "same_name", "") ||
	    !compile("needed.so", "needed", "") ||
	    !compile("staying.so", "staying",
		     "-Wl,-z,nodelete -Wl,--no-as-needed -L. -l:needed.so"))
		goto out; /* no compiler: the other test has done what it can */
	plain = function_of("plain.so", "plain");
	same_name = function_of("libc.so.6", "same_name");
	staying = function_of("staying.so", "staying");
	needed = function_of("needed.so", "needed");
	tell();
	ck_assert(!lasts(plain));
	ck_assert(!lasts(same_name));
	ck_assert(lasts(staying));
	ck_assert(lasts(needed));
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
