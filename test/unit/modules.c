/* engine/modules/modules: loads and unloads of modules, while handlers walk. */
#include "engine/cfi/cfi_lookup.h"
#include "engine/modules/modules.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/cfi/cfi.h"
#include "engine/modules/module_image.h"
#include "engine/unwind/unwind.h"
#include "engine/unwind/unwind_map.h"
#include "test/fixtures/suite.h"

static char directory[] = "/tmp/modules-test-XXXXXX";

/* Compile SOURCE with FLAGS to a library NAME in the test's directory. */
static bool build_with(const char *name, const char *flags, const char *source)
{
	char command[512], path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.c", directory, name);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	fputs(source, file);
	ck_assert_int_eq(fclose(file), 0);
	snprintf(command, sizeof(command),
		 "cc -O1 -fomit-frame-pointer -shared -fPIC -Wl,--build-id %s -o %s/%s.so %s",
		 flags, directory, name, path);
	return !system(command);
}

static bool build(const char *name, const char *source)
{
	return build_with(name, "", source);
}

static void *open_library(const char *name)
{
	char path[128];
	void *library;

	snprintf(path, sizeof(path), "%s/%s.so", directory, name);
	library = dlopen(path, RTLD_NOW);
	ck_assert_msg(library != NULL, "%s", dlerror());
	return library;
}

/* Look up the rule at PC so often that its module gets a table. */
static void look_up_often(uintptr_t pc)
{
	for (int i = 0; i < UNWIND_LOOKUPS_MAX; i++)
		unwind_map_find(pc);
}

/* The rule for PC in the table of its module. */
static uint16_t compiled_rule(uintptr_t pc)
{
	look_up_often(pc);
	ck_assert_int_ge(modules_refresh(), 0);
	ck_assert(!modules_find(pc)->pending);
	return unwind_map_find(pc);
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	cfi_lookup_init();
	ck_assert_int_eq(modules_open(), 0);
}

static void teardown(void)
{
	char command[64];

	modules_close();
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(the_program_and_its_libraries)
{
	const struct module *own = modules_find((uintptr_t)&setup);
	const struct module *libc =
		modules_find((uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
	const struct module *const *list;
	char executable[256] = { 0 };
	size_t count;

	ck_assert_ptr_nonnull(own);
	ck_assert_ptr_nonnull(libc);
	ck_assert_ptr_ne(own, libc);
	ck_assert_int_gt(readlink("/proc/self/exe", executable, sizeof(executable) - 1), 0);
	ck_assert_str_eq(own->path, executable);
	ck_assert_ptr_nonnull(strstr(libc->path, "libc.so"));
	ck_assert_uint_gt(libc->build_id_size, 0);
	ck_assert_uint_gt(libc->loaded_ticks, 0);
	ck_assert_uint_eq(libc->unloaded_ticks, 0);
	ck_assert(own->table || own->pending);
	ck_assert(libc->table || libc->pending);
	ck_assert_ptr_null(modules_find(0));
	ck_assert_ptr_null(modules_find((uintptr_t)&count));
	count = modules_list(&list);
	ck_assert_uint_ge(count, 3);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_lt(list[i]->start, list[i]->end);
		ck_assert_ptr_eq(modules_find(list[i]->start), list[i]);
		ck_assert_ptr_eq(modules_find(list[i]->end - 1), list[i]);
	}
	ck_assert_uint_gt(modules_memory(), 10000);
}
END_TEST

/* Only a module that walks use gets a table. */
START_TEST(compiled_when_worth_it)
{
	uintptr_t own_pc = (uintptr_t)&setup;
	uintptr_t libc_pc = (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	const struct module *own = modules_find(own_pc), *libc = modules_find(libc_pc);
	void *library;

	if (!dlsym(RTLD_DEFAULT, "_dl_find_object")) {
		ck_assert_ptr_nonnull(own->table); /* without lookups */
		return;
	}
	ck_assert(own->pending && !own->table);
	for (int i = 0; i < UNWIND_LOOKUPS_MAX - 1; i++)
		ck_assert_uint_eq(unwind_map_find(own_pc), RULE_INDEX_PENDING);
	ck_assert_int_eq(modules_refresh(), 0);
	ck_assert(own->pending);

	/* The count is kept when another module is loaded. */
	ck_assert(build("worth", "int come(void) { return 6; }"));
	library = open_library("worth");
	ck_assert_int_eq(modules_refresh(), 1);
	ck_assert(own->pending);
	ck_assert_uint_eq(unwind_map_find(own_pc), RULE_INDEX_PENDING);
	/* From here on, a walk requests it. */
	ck_assert_uint_eq(unwind_map_find(own_pc), RULE_INDEX_UNKNOWN);
	ck_assert_int_eq(modules_refresh(), 1);
	ck_assert(!own->pending && own->table);
	ck_assert_uint_ge(unwind_map_find(own_pc), RULE_INDEX_FIRST);
	ck_assert(libc->pending && !libc->table);
	ck_assert_uint_eq(unwind_map_find(libc_pc), RULE_INDEX_PENDING);
	ck_assert_int_eq(modules_refresh(), 0);
	dlclose(library);
}
END_TEST

/* An address is looked up once while its module is unchanged. */
START_TEST(looked_up_once)
{
	uintptr_t pc = (uintptr_t)&setup, unknown = 4096;
	const struct unwind_rule rule = { .kind = RULE_SP, .offset = 8, .ra_words = -1 };

	if (!modules_find(pc)->pending)
		return; /* nothing can be looked up */
	unwind_map_cache_lookup(pc, &rule);
	for (int i = 0; i < 2 * UNWIND_LOOKUPS_MAX; i++)
		ck_assert_mem_eq(&unwind_rules[unwind_map_find(pc)], &rule, sizeof(rule));
	ck_assert_int_eq(modules_refresh(), 0);
	ck_assert(modules_find(pc)->pending);
	unwind_map_cache_lookup(unknown, &rule);
	ck_assert_uint_eq(unwind_map_find(unknown), RULE_INDEX_UNKNOWN);

	ck_assert_uint_ge(compiled_rule(pc + 1), RULE_INDEX_FIRST);
	ck_assert_uint_ge(unwind_map_find(pc), RULE_INDEX_FIRST);
	unwind_map_cache_lookup(pc, &rule);
	ck_assert_uint_ge(unwind_map_find(pc), RULE_INDEX_FIRST);
}
END_TEST

START_TEST(without_a_search_table)
{
	const struct module *module;
	void *library;
	uintptr_t pc;

	ck_assert(build_with("bare", "-Wl,--no-eh-frame-hdr",
			     "int come(int (*f)(void)) { return f() + 7; }"));
	library = open_library("bare");
	pc = (uintptr_t)dlsym(library, "come");
	ck_assert_int_eq(modules_refresh(), 1);
	module = modules_find(pc);
	ck_assert_ptr_nonnull(module);
	ck_assert(!module->pending);
	/* Its file has the position of its entries. */
	ck_assert_ptr_nonnull(module->table);
	ck_assert_uint_ge(unwind_table_find(module->table, pc - module->start), RULE_INDEX_FIRST);
	dlclose(library);
}
END_TEST

START_TEST(the_vdso)
{
	uintptr_t address = getauxval(AT_SYSINFO_EHDR);
	const struct module *const *list;
	size_t count = modules_list(&list), found = 0;

	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i]->path, "[vdso]")) {
			found++;
			ck_assert_uint_eq(list[i]->bias, address);
			ck_assert(list[i]->table || list[i]->pending);
		}
	ck_assert_uint_eq(found, address ? 1 : 0);
}
END_TEST

START_TEST(nothing_changes)
{
	const struct module *libc =
		modules_find((uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
	size_t memory = modules_memory();

	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(modules_refresh(), 0);
	ck_assert_ptr_eq(modules_find((uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version")),
			 libc);
	ck_assert_uint_eq(modules_memory(), memory);
}
END_TEST

static const struct module *met;

static void meet(void *times, const struct module *module)
{
	++*(size_t *)times;
	met = module;
}

START_TEST(comes_and_goes)
{
	const struct module *module;
	size_t times = 0, none = 0;
	uint64_t since = 0;
	uintptr_t pc;
	void *library;
	size_t count;
	const struct module *const *list;

	ck_assert(build("come", "int come(int (*f)(void)) { return f() + 1; }"));
	library = open_library("come");
	pc = (uintptr_t)dlsym(library, "come");
	ck_assert_ptr_null(modules_find(pc));
	ck_assert_uint_eq(unwind_map_find(pc), RULE_INDEX_UNKNOWN);
	modules_since(&since, meet, &times);
	ck_assert_uint_eq(times, modules_list(&list));
	ck_assert_int_eq(modules_refresh(), 1);
	module = modules_find(pc);
	ck_assert_ptr_nonnull(module);
	ck_assert_uint_ge(compiled_rule(pc), RULE_INDEX_FIRST);
	ck_assert_ptr_nonnull(strstr(module->path, "/come.so"));
	ck_assert_int_eq(modules_refresh(), 0);
	count = modules_list(&list);
	times = 0;
	modules_since(&since, meet, &times);
	modules_since(&since, meet, &none);
	ck_assert(times == 1 && none == 0);
	ck_assert_ptr_eq(met, module);
	ck_assert(modules_has(module->start, module->loaded_ticks));
	ck_assert(!modules_has(module->start + 1, module->loaded_ticks));

	ck_assert_int_eq(dlclose(library), 0);
	ck_assert_int_eq(modules_refresh(), 1);
	/* Still in the list, for its samples. */
	ck_assert_ptr_eq(modules_find(pc), module);
	ck_assert_uint_ge(module->unloaded_ticks, module->loaded_ticks);
	ck_assert_uint_gt(module->unloaded_ticks, 0);
	ck_assert(!modules_has(module->start, module->loaded_ticks));
	since = 0;
	modules_since(&since, meet, &none);
	ck_assert_uint_eq(none, count - 1);
	ck_assert_uint_eq(modules_list(&list), count);
	/* But walks do not use it. */
	ck_assert_uint_eq(unwind_map_find(pc), RULE_INDEX_UNKNOWN);
	modules_forget();
	ck_assert_ptr_null(modules_find(pc));
	ck_assert_uint_eq(modules_list(&list), count - 1);
}
END_TEST

/* Another library, or a new build of the same one, at the same address: the newest is found. */
START_TEST(replaced_at_the_same_place)
{
	const struct module *first, *second;
	uint8_t id[32];
	uintptr_t pc;
	void *library;

	ck_assert(build("same", "int come(int (*f)(void)) { return f() + 1; }"));
	library = open_library("same");
	pc = (uintptr_t)dlsym(library, "come");
	ck_assert_int_eq(modules_refresh(), 1);
	first = modules_find(pc);
	ck_assert_ptr_nonnull(first);
	memcpy(id, first->build_id, sizeof(id));
	dlclose(library);
	ck_assert(build("same", "int come(int (*f)(void)) { return f() + 2; }"));
	library = open_library("same");
	ck_assert_int_eq(modules_refresh(), 1);
	second = modules_find((uintptr_t)dlsym(library, "come"));
	ck_assert_ptr_nonnull(second);
	ck_assert_ptr_ne(first, second);
	ck_assert_mem_ne(second->build_id, id, sizeof(id));
	ck_assert(modules_has(second->start, second->loaded_ticks));
	ck_assert(!modules_has(second->start, first->loaded_ticks));
	if ((uintptr_t)dlsym(library, "come") == pc)
		ck_assert_uint_gt(first->unloaded_ticks, 0);
	dlclose(library);
}
END_TEST

/* Without a build-id, only the file differs. While the old file is mapped, nothing changes. */
START_TEST(replaced_without_a_build_id)
{
	const char *source = "int come(int (*f)(void)) { return f() + 1; }";
	const struct module *first, *second;
	char command[256];
	void *library;
	uintptr_t pc;

	ck_assert(build_with("plain", "-Wl,--build-id=none", source));
	ck_assert(build_with("next", "-Wl,--build-id=none", source));
	library = open_library("plain");
	pc = (uintptr_t)dlsym(library, "come");
	ck_assert_int_eq(modules_refresh(), 1);
	first = modules_find(pc);
	ck_assert_ptr_nonnull(first);
	ck_assert_uint_eq(first->build_id_size, 0);
	snprintf(command, sizeof(command), "mv %s/next.so %s/plain.so", directory, directory);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(modules_refresh(), 0);
	dlclose(library);
	library = open_library("plain");
	ck_assert_int_eq(modules_refresh(), 1);
	second = modules_find((uintptr_t)dlsym(library, "come"));
	ck_assert_ptr_nonnull(second);
	ck_assert_ptr_ne(first, second);
	ck_assert_uint_gt(first->unloaded_ticks, 0);
	ck_assert_int_eq(modules_refresh(), 0);
	dlclose(library);
}
END_TEST

START_TEST(relative_and_deleted)
{
	const struct module *module;
	char *before = getcwd(NULL, 0), path[128];
	void *library;
	uintptr_t pc;

	ck_assert(build("relative", "int come(int (*f)(void)) { return f() + 3; }"));
	ck_assert_int_eq(chdir(directory), 0);
	library = dlopen("./relative.so", RTLD_NOW);
	ck_assert_ptr_nonnull(library);
	ck_assert_int_eq(unlink("relative.so"), 0);
	ck_assert_int_eq(chdir(before), 0);
	free(before);
	pc = (uintptr_t)dlsym(library, "come");
	ck_assert_int_eq(modules_refresh(), 1);
	module = modules_find(pc);
	ck_assert_ptr_nonnull(module);
	snprintf(path, sizeof(path), "%s/relative.so", directory);
	ck_assert_int_eq(strncmp(module->path, path, strlen(path)), 0);
	/* Its tables then come from memory. */
	ck_assert_uint_ge(compiled_rule(pc), RULE_INDEX_FIRST);
	dlclose(library);
}
END_TEST

/* A file that differs from the loaded module is not read. */
START_TEST(overwritten)
{
	const struct module *module;
	char command[256];
	void *library;
	uintptr_t pc;

	ck_assert(build("first", "int come(int (*f)(void)) { return f() + 4; }"));
	ck_assert(build("other",
			"int a[9]; void x(void) { a[1] = 2; } int come(void) { return *a; }"));
	library = open_library("first");
	pc = (uintptr_t)dlsym(library, "come");
	snprintf(command, sizeof(command), "mv %s/other.so %s/first.so", directory, directory);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(modules_refresh(), 1);
	module = modules_find(pc);
	ck_assert_ptr_nonnull(module);
	ck_assert_uint_ge(compiled_rule(pc), RULE_INDEX_FIRST);
	/* In the middle of the function, a word has been pushed for alignment. */
	ck_assert_int_eq(unwind_rules[compiled_rule(pc + 4)].offset, 16);
	ck_assert_uint_gt(module->build_id_size, 0);
	dlclose(library);
}
END_TEST

/* Libraries are loaded and unloaded while threads walk and a refresher runs: nothing may fault. */
static atomic_bool stop;

static void on_signal(int signo, siginfo_t *info, void *context)
{
	uintptr_t pcs[64];
	bool truncated;

	(void)signo;
	(void)info;
	unwind_context(context, 0, pcs, 64, &truncated);
}

static void *walk_and_work(void *argument)
{
	char text[64];
	(void)argument;
	while (!atomic_load(&stop)) {
		for (int i = 0; i < 50; i++)
			snprintf(text, sizeof(text), "%d", i);
		raise(SIGUSR1);
	}
	return NULL;
}

/* Returns NULL on success. It has no checks: Check takes a lock for each, which a child forked at
 * that time would find locked. */
static void *refresh(void *failure)
{
	void *result = NULL;

	while (!atomic_load(&stop)) {
		if (modules_refresh() < 0)
			result = failure;
		modules_forget();
	}
	return result;
}

START_TEST(walks_meet_changes)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	pthread_t walker, refresher;
	int (*come)(int (*)(void));
	void *library, *result;

	ck_assert(build("storm", "int come(int (*f)(void)) { return f() + 5; }"));
	sigaction(SIGUSR1, &action, NULL);
	ck_assert_int_eq(pthread_create(&walker, NULL, walk_and_work, NULL), 0);
	ck_assert_int_eq(pthread_create(&refresher, NULL, refresh, &stop), 0);
	for (int i = 0; i < 300; i++) {
		library = open_library("storm");
		*(void **)&come = dlsym(library, "come");
		come(getpid);
		raise(SIGUSR1);
		dlclose(library);
	}
	atomic_store(&stop, true);
	pthread_join(walker, NULL);
	pthread_join(refresher, &result);
	ck_assert_ptr_null(result);
}
END_TEST

/* A child that is forked while the refresher reads the loader's list can use the loader, and has a list. */
START_TEST(fork_meets_refresh)
{
	pthread_t refresher;
	void *result;
	int status;
	pid_t pid;

	atomic_store(&stop, false);
	ck_assert_int_eq(pthread_create(&refresher, NULL, refresh, &stop), 0);
	for (int i = 0; i < 200; i++) {
		pid = fork();
		if (!pid) {
			alarm(20);
			unwind_map_after_fork();
			_exit(modules_refresh() < 0 || !dlopen(NULL, RTLD_NOW));
		}
		ck_assert_int_gt(pid, 0);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
	}
	atomic_store(&stop, true);
	pthread_join(refresher, &result);
	ck_assert_ptr_null(result);
}
END_TEST

/* The program and its needed libraries, which are never unloaded; no other module. */
START_TEST(code_read_where_it_is)
{
	const struct module *own = modules_find((uintptr_t)&setup);
	size_t bytes = own->end - own->start;
	uintptr_t opened;
	void *library;

	ck_assert(unwind_map_is_readable(own->start, bytes));
	ck_assert(!unwind_map_is_readable(own->start, bytes + 1));
	ck_assert(!unwind_map_is_readable(own->start - 1, 2));
	ck_assert(!unwind_map_is_readable((uintptr_t)directory, 1));
	ck_assert(unwind_map_is_readable((uintptr_t)dlsym(RTLD_DEFAULT, "qsort"), 1));
	ck_assert(build("opened", "int opened(void) { return 1; }"));
	library = open_library("opened");
	opened = (uintptr_t)dlsym(library, "opened");
	ck_assert_int_eq(modules_refresh(), 1);
	ck_assert(unwind_map_has_module(opened) && !unwind_map_is_readable(opened, 1));
	dlclose(library);
	modules_close();
	ck_assert(!unwind_map_is_readable((uintptr_t)&setup, 1));
}
END_TEST

START_TEST(closed)
{
	const struct module *const *list;

	modules_close();
	ck_assert_uint_eq(modules_list(&list), 0);
	ck_assert_ptr_null(modules_find((uintptr_t)&setup));
	ck_assert_int_eq(modules_refresh(), -EINVAL);
	ck_assert_uint_eq(unwind_map_find((uintptr_t)&setup), RULE_INDEX_UNKNOWN);
	ck_assert_int_eq(modules_open(), 0);
	ck_assert_ptr_nonnull(modules_find((uintptr_t)&setup));
}
END_TEST

int main(void)
{
	TCase *tests;

	if (system("cc --version >/dev/null 2>&1")) {
		puts("no compiler to make libraries with");
		return 77;
	}
	tests = tcase_create("following");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, the_program_and_its_libraries);
	tcase_add_test(tests, the_vdso);
	tcase_add_test(tests, compiled_when_worth_it);
	tcase_add_test(tests, looked_up_once);
	tcase_add_test(tests, without_a_search_table);
	tcase_add_test(tests, nothing_changes);
	tcase_add_test(tests, comes_and_goes);
	tcase_add_test(tests, replaced_at_the_same_place);
	tcase_add_test(tests, replaced_without_a_build_id);
	tcase_add_test(tests, relative_and_deleted);
	tcase_add_test(tests, overwritten);
	tcase_add_test(tests, walks_meet_changes);
	tcase_add_test(tests, fork_meets_refresh);
	tcase_add_test(tests, code_read_where_it_is);
	tcase_add_test(tests, closed);
	return suite_run(tests);
}
