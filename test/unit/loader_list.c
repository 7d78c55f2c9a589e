/* engine/modules/loader_list: the same list as dl_iterate_phdr(3), without its lock. */
#include "engine/modules/loader_list.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/fd.h"
#include "test/fixtures/suite.h"

static char directory[] = "/tmp/loader-list-test-XXXXXX";
static char path[64];
static struct loader_list list;

/* Build a library in the test's directory, linked with FLAGS. */
static void build(const char *name, const char *flags)
{
	char command[256];

	snprintf(path, sizeof(path), "%s/%s.so", directory, name);
	snprintf(command, sizeof(command),
		 "echo 'int answer(void) { return 42; }' | cc -shared -fPIC %s -o %s -x c -", flags,
		 path);
	ck_assert_int_eq(system(command), 0);
}

static void *open_built(void)
{
	void *library = dlopen(path, RTLD_NOW);

	ck_assert_msg(library != NULL, "%s", dlerror());
	return library;
}

static void read_anew(void)
{
	loader_list_free(&list);
	ck_assert_int_eq(loader_list_read(&list), 0);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(directory));
	memset(&list, 0, sizeof(list));
}

static void tear_down(void)
{
	char command[64];

	loader_list_free(&list);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	ck_assert_int_eq(system(command), 0);
}

/* The loader's entry equals entry INDEX of LIST. */
static int compare(struct dl_phdr_info *info, size_t size, void *index)
{
	size_t i = (*(size_t *)index)++;
	const struct image *image = &list.images[i];

	(void)size;
	ck_assert_uint_lt(i, list.count);
	ck_assert_uint_eq(image->bias, info->dlpi_addr);
	ck_assert_str_eq(image->path, info->dlpi_name);
	ck_assert_uint_eq(image->phdr_count, info->dlpi_phnum);
	ck_assert_mem_eq(image->phdrs, info->dlpi_phdr,
			 info->dlpi_phnum * sizeof(info->dlpi_phdr[0]));
	return 0;
}

static void is_as_told(void)
{
	size_t index = 0;

	read_anew();
	dl_iterate_phdr(compare, &index);
	ck_assert_uint_eq(index, list.count);
}

START_TEST(as_dl_iterate_phdr_tells)
{
	void *library;

	is_as_told();
	build("plain", "");
	library = open_built();
	is_as_told();
	dlclose(library);
	is_as_told();
}
END_TEST

/* Then the start of the module is not at its link address 0. */
START_TEST(linked_to_a_place)
{
	void *library;

	build("placed", "-Wl,-Ttext-segment=0x100000");
	library = open_built();
	is_as_told();
	dlclose(library);
}
END_TEST

/* Move the program headers to the end of the file, which is not loaded: there is space for them. */
static void move_headers(void)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	Elf64_Phdr phdrs[IMAGE_PHDRS_MAX], nothing[IMAGE_PHDRS_MAX] = { 0 };
	Elf64_Ehdr header;
	off_t end;
	size_t size;

	ck_assert_int_eq(fd_read(fd, &header, sizeof(header), 0), 0);
	size = header.e_phnum * sizeof(Elf64_Phdr);
	ck_assert_uint_le(size, sizeof(phdrs));
	ck_assert_int_eq(fd_read(fd, phdrs, size, (off_t)header.e_phoff), 0);
	ck_assert_int_eq(fd_write(fd, nothing, size, (off_t)header.e_phoff), 0);
	end = (lseek(fd, 0, SEEK_END) + 7) & ~(off_t)7;
	ck_assert_int_eq(fd_write(fd, phdrs, size, end), 0);
	header.e_phoff = (Elf64_Off)end;
	ck_assert_int_eq(fd_write(fd, &header, sizeof(header), 0), 0);
	close(fd);
}

START_TEST(headers_at_the_end)
{
	void *library;

	build("moved", "");
	move_headers();
	library = open_built();
	is_as_told();
	dlclose(library);
}
END_TEST

START_TEST(comes_and_goes)
{
	void *library;

	build("come", "");
	ck_assert(!loader_list_is_current(&list));
	ck_assert(loader_list_has_grown(&list));
	read_anew();
	loader_list_trim(&list);
	ck_assert_ptr_null(list.images);
	ck_assert(loader_list_is_current(&list));
	ck_assert(!loader_list_has_grown(&list));

	library = open_built();
	ck_assert(!loader_list_is_current(&list));
	ck_assert(loader_list_has_grown(&list));
	read_anew();
	ck_assert(loader_list_is_current(&list));
	ck_assert(!loader_list_has_grown(&list));

	dlclose(library);
	ck_assert(!loader_list_is_current(&list));
	read_anew();
	ck_assert(loader_list_is_current(&list));
}
END_TEST

static sem_t is_held, may_go;

static int hold(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info, (void)size, (void)data;
	sem_post(&is_held);
	sem_wait(&may_go);
	return 1;
}

static void *hold_lock(void *argument)
{
	dl_iterate_phdr(hold, NULL);
	return argument;
}

static int look_at_nothing(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info, (void)size, (void)data;
	return 1;
}

/* A child that needs a lock of another thread waits forever, so it is limited to SECONDS. */
static int status_of_child_that_wants_it(unsigned seconds)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGALRM, SIG_DFL);
		alarm(seconds);
		dl_iterate_phdr(look_at_nothing, NULL);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(waits_for_no_lock)
{
	pthread_t holder;

	sem_init(&is_held, 0, 0);
	sem_init(&may_go, 0, 0);
	ck_assert_int_eq(pthread_create(&holder, NULL, hold_lock, NULL), 0);
	sem_wait(&is_held);
	/* This is that lock. */
	ck_assert_int_eq(status_of_child_that_wants_it(1), SIGALRM);
	read_anew();
	ck_assert_uint_gt(list.count, 2);
	ck_assert(loader_list_is_current(&list));
	sem_post(&may_go);
	pthread_join(holder, NULL);
	ck_assert_int_eq(status_of_child_that_wants_it(60), 0);
}
END_TEST

static atomic_bool stop;

static void *come_and_go(void *file)
{
	while (!atomic_load(&stop)) {
		void *library = dlopen(file, RTLD_NOW);

		if (library)
			dlclose(library);
	}
	return NULL;
}

static bool has_path(const char *wanted)
{
	for (size_t i = 0; i < list.count; i++)
		if (!strcmp(list.images[i].path, wanted))
			return true;
	return false;
}

/* Until each of two libraries was seen as loaded and as unloaded a hundred times. */
START_TEST(changes_meanwhile)
{
	unsigned there[2] = { 0 }, gone[2] = { 0 };
	pthread_t threads[2];
	char files[2][64];
	int err;

	for (int i = 0; i < 2; i++) {
		build(i ? "second" : "first", "");
		memcpy(files[i], path, sizeof(path));
	}
	read_anew();
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, files[i]), 0);
	while (there[0] < 100 || there[1] < 100 || gone[0] < 100 || gone[1] < 100) {
		loader_list_free(&list);
		err = loader_list_read(&list);
		if (err) {
			ck_assert_int_eq(err, -EAGAIN);
			continue;
		}
		for (int i = 0; i < 2; i++)
			(has_path(files[i]) ? there : gone)[i]++;
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	is_as_told();
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, as_dl_iterate_phdr_tells);
	tcase_add_test(tests, linked_to_a_place);
	tcase_add_test(tests, headers_at_the_end);
	tcase_add_test(tests, comes_and_goes);
	tcase_add_test(tests, waits_for_no_lock);
	tcase_add_test(tests, changes_meanwhile);
	return suite_run(tests);
}
