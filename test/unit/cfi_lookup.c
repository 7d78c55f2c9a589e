/* engine/cfi/cfi_lookup: a handler reads the same rules from a module's sections as those compiled
 * from them, at every instruction. Missing sections are not read. */
#include "engine/cfi/cfi_lookup.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/modules/modules.h"
#include "engine/unwind/unwind_map.h"
#include "test/fixtures/compile_modules.h"
#include "test/fixtures/suite.h"

static void setup(void)
{
	cfi_lookup_init();
	ck_assert_int_eq(modules_open(), 0);
}

static void teardown(void)
{
	modules_close();
}

static bool look_up(struct unwind_rule *rule, uintptr_t pc)
{
	struct memory_block block;

	memory_block_init(&block);
	return cfi_lookup(rule, pc, &block);
}

/* The end of the padding in an entry that no rule can express, as the dynamic linker of aarch64 has
 * one. */
static size_t only_read;

/* The rule that is read for PC is the compiled one. Returns whether there is one. */
static bool compare(uintptr_t pc)
{
	const struct unwind_rule *compiled = &unwind_rules[unwind_map_find(pc)];
	struct unwind_rule read = { 0 };

	if (!look_up(&read, pc))
		return false;
	if (compiled->kind == RULE_NONE) {
		only_read++;
		return false;
	}
	ck_assert_msg(!memcmp(&read, compiled, sizeof(read)), "rules differ at %#lx",
		      (unsigned long)pc);
	return true;
}

/* Modules are large: a step that reaches every function, and all places in one, after some rounds. */
#define STRIDE 61

START_TEST(agrees_with_what_is_compiled)
{
	const struct module *const *list;
	size_t count, read = 0, compiled = 0;

	ck_assert_int_eq(compile_modules(), 1);
	count = modules_list(&list);
	for (size_t i = 0; i < count; i++) {
		if (!list[i]->table)
			continue;
		for (uintptr_t pc = list[i]->start + (uintptr_t)_i; pc < list[i]->end;
		     pc += STRIDE) {
			read += compare(pc);
			compiled += unwind_rules[unwind_map_find(pc)].kind != RULE_NONE;
		}
	}
	ck_assert_uint_gt(read, 10000);
	ck_assert_uint_eq(read, compiled);
	ck_assert_uint_lt(only_read, read / 1000);
}
END_TEST

START_TEST(code_of_no_module)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct unwind_rule rule;

	ck_assert_ptr_ne(page, MAP_FAILED);
	ck_assert(!look_up(&rule, (uintptr_t)page));
	ck_assert(!look_up(&rule, 0));
	ck_assert(!look_up(&rule, UINTPTR_MAX));
	munmap(page, 4096);
}
END_TEST

static char directory[] = "/tmp/lookup-test-XXXXXX";

static void *open_library(void)
{
	char command[256];
	void *library;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(command, sizeof(command),
		 "cd %s && echo 'int come(int (*f)(void)) { return f() + 1; }' >come.c && "
		 "cc -O1 -fomit-frame-pointer -shared -fPIC -o come.so come.c",
		 directory);
	if (system(command))
		return NULL;
	snprintf(command, sizeof(command), "%s/come.so", directory);
	library = dlopen(command, RTLD_NOW);
	ck_assert_msg(library != NULL, "%s", dlerror());
	return library;
}

static void remove_library(void *library)
{
	char command[64];

	if (library)
		dlclose(library);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

struct frame_header {
	const char *library;
	uintptr_t page;
};

static int find_header(struct dl_phdr_info *info, size_t size, void *data)
{
	struct frame_header *header = data;

	(void)size;
	if (!strstr(info->dlpi_name, header->library))
		return 0;
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			header->page = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) & ~4095ul;
	return 1;
}

START_TEST(module_that_has_just_come)
{
	struct frame_header header = { .library = directory };
	void *library = open_library();
	struct unwind_rule rule;
	uintptr_t pc;

	if (!library)
		goto out; /* no compiler: the other tests have done what they can */
	pc = (uintptr_t)dlsym(library, "come");
	ck_assert_uint_eq(unwind_map_find(pc), RULE_INDEX_UNKNOWN);
	ck_assert(look_up(&rule, pc));
	ck_assert_int_eq(modules_refresh(), 1);
	ck_assert_uint_eq(unwind_map_find(pc), RULE_INDEX_PENDING);
	ck_assert_int_eq(compile_modules(), 1);
	ck_assert(compare(pc));

	/* Unreadable sections only end the lookup. (An emulator reports all memory as readable.) */
	if (getenv("TEST_RUNNER"))
		goto out;
	ck_assert_int_ne(dl_iterate_phdr(find_header, &header), 0);
	ck_assert_int_eq(mprotect((void *)header.page, 4096, PROT_NONE), 0);
	ck_assert(!look_up(&rule, pc));
	ck_assert_int_eq(mprotect((void *)header.page, 4096, PROT_READ), 0);
	ck_assert(look_up(&rule, pc));
out:
	remove_library(library);
}
END_TEST

struct coming {
	char path[64];
	_Atomic uintptr_t pc;
	atomic_bool done;
};

static void *come_and_go(void *data)
{
	struct coming *coming = data;
	void *library;

	while (!atomic_load(&coming->done)) {
		library = dlopen(coming->path, RTLD_NOW);
		if (!library)
			abort();
		atomic_store(&coming->pc, (uintptr_t)dlsym(library, "come"));
		dlclose(library);
	}
	return NULL;
}

#define LOOKUPS 2000 /* successful ones, and as many others */

START_TEST(module_that_comes_and_goes)
{
	static struct coming coming;
	void *library = open_library();
	struct unwind_rule rule;
	size_t found = 0, missed = 0;
	pthread_t thread;

	if (!library || getenv("TEST_RUNNER"))
		goto out;
	dlclose(library);
	snprintf(coming.path, sizeof(coming.path), "%s/come.so", directory);
	ck_assert_int_eq(pthread_create(&thread, NULL, come_and_go, &coming), 0);
	while (found < LOOKUPS || missed < LOOKUPS)
		*(look_up(&rule, atomic_load(&coming.pc)) ? &found : &missed) += 1;
	atomic_store(&coming.done, true);
	pthread_join(thread, NULL);
out:
	remove_library(NULL);
}
END_TEST

int main(void)
{
	TCase *tests;

	if (!dlsym(RTLD_DEFAULT, "_dl_find_object")) {
		puts("this C library cannot be asked for modules in a handler");
		return 77;
	}
	tests = tcase_create("lookup");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, agrees_with_what_is_compiled, 0, 4);
	tcase_add_test(tests, code_of_no_module);
	tcase_add_test(tests, module_that_has_just_come);
	tcase_add_test(tests, module_that_comes_and_goes);
	return suite_run(tests);
}
