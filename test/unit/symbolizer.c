/* decoder/symbolize/symbolizer: this program's own debug information, found in several places,
 * queried for inlined functions, and damaged. */
#include "decoder/symbolize/symbolizer.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "decoder/output/message.h"
#include "decoder/symbolize/dwarf_library.h"
#include "engine/elf/elf.h"
#include "engine/elf/elf_identity.h"
#include "test/fixtures/sanitized.h"
#include "test/fixtures/suite.h"

#if ADDRESS_SANITIZED
#include <sanitizer/lsan_interface.h>
#endif

extern const char probe[];

enum { INNER_LINE = __LINE__ + 3, OUTER_LINE = INNER_LINE + 5, WHOLE_LINE = OUTER_LINE + 7 };
__attribute__((always_inline)) static inline void inner(void)
{
	__asm__ volatile(".globl probe\nprobe:\n\tnop");
}

__attribute__((always_inline)) static inline void outer(void)
{
	inner();
	__asm__ volatile("");
}

__attribute__((noinline, used)) static void whole(void)
{
	__asm__ volatile("");
	outer();
	__asm__ volatile("");
}

static char own[4096], directory[] = "/tmp/asprof-symbolizer-XXXXXX";
static char build_id[2 * ELF_BUILD_ID_MAX + 1];

static int take_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(uintptr_t *)bias = info->dlpi_addr;
	return 1; /* the program is the first */
}

static uint64_t link_address(const void *code)
{
	uintptr_t bias = 0;

	dl_iterate_phdr(take_bias, &bias);
	return (uintptr_t)code - bias;
}

/* Run COMMAND with the test's directory in $d, this program in $p, and its build-id as $i$j. */
static void shell(const char *command)
{
	char line[8800];

	snprintf(line, sizeof(line), "d=%s p=%s i=%.2s j=%s; %s", directory, own, build_id,
		 build_id + 2, command);
	ck_assert_int_eq(system(line), 0);
}

static struct symbolizer *open_one(const char *path)
{
	static const char *directories[1];
	struct symbolizer *s = NULL;

	directories[0] = path;
	ck_assert_int_eq(symbolizer_open(&s, directories, 1, false), 0);
	return s;
}

static size_t frames_at(struct symbolizer *s, const char *id, uint64_t address,
			struct debug_frame frames[DEBUG_FRAMES_MAX])
{
	struct address_lookup lookup = symbolizer_lookup(s);

	return lookup.frames(lookup.arg, id, "test", address, frames);
}

static void expect_frame(const struct debug_frame *frame, const char *name, uint32_t line)
{
	ck_assert_str_eq(frame->name, name);
	ck_assert_ptr_nonnull(strstr(frame->file, "test/unit/symbolizer.c"));
	ck_assert_uint_eq(frame->line, line);
}

static void expect_chain(const char *path)
{
	struct debug_frame frames[DEBUG_FRAMES_MAX];
	struct symbolizer *s = open_one(path);

	/* The second result comes from the cache. */
	for (int i = 0; i < 2; i++) {
		ck_assert_uint_eq(frames_at(s, build_id, link_address(probe), frames), 3);
		expect_frame(&frames[0], "inner", INNER_LINE);
		expect_frame(&frames[1], "outer", OUTER_LINE);
		expect_frame(&frames[2], "whole", WHOLE_LINE);
	}
	symbolizer_close(s);
}

START_TEST(file_itself)
{
	expect_chain(own);
}
END_TEST

START_TEST(anywhere_below)
{
	shell("rm -rf $d/* && mkdir $d/deep && ln -s /nowhere $d/deep/x && cp $p $d/deep/copy");
	expect_chain(directory);
}
END_TEST

/* As in distributions. The directory scan does not follow links, so the file is found by its name. */
START_TEST(by_build_id)
{
	shell("rm -rf $d/* && mkdir -p $d/.build-id/$i && ln -s $p $d/.build-id/$i/$j.debug");
	expect_chain(directory);
}
END_TEST

START_TEST(unknown)
{
	static const char *const ids[] = {
		"",     "00",    "0123456789abcdef0123456789abcdef01234567", "../../../../etc",
		"0g00", "ABCDEF"
	};
	struct debug_frame frames[DEBUG_FRAMES_MAX];
	struct symbolizer *s = open_one(own);

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		ck_assert_uint_eq(frames_at(s, ids[i], 4096, frames), 0);
	ck_assert_uint_eq(frames_at(s, build_id, 1, frames), 0);
	ck_assert_uint_eq(frames_at(s, build_id, UINT64_MAX, frames), 0);
	symbolizer_close(s);
}
END_TEST

START_TEST(no_directory)
{
	const char *directories[] = { "/nowhere/at/all" };
	struct symbolizer *s;

	ck_assert_int_lt(symbolizer_open(&s, directories, 1, false), 0);
}
END_TEST

/* Read the data of COPY. Any result is accepted: it must only end. */
static void read_damaged(const uint8_t *data, size_t size, const char *copy)
{
	struct debug_frame frames[DEBUG_FRAMES_MAX];
	int fd = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct symbolizer *s;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write(fd, data, size, 0), 0);
	close(fd);
	s = open_one(copy);
	for (size_t i = 0; i < frames_at(s, build_id, link_address(probe), frames); i++)
		if (frames[i].name)
			ck_assert_uint_lt(strlen(frames[i].name), size);
	symbolizer_close(s);
}

/* dwarf_getscopes() leaks its results when it finds damage (elfutils 0.188): once in a few hundred
 * changes. The fuzzer finds leaks of the surrounding code, because it ignores only libdw's own
 * allocations (test/fuzz/debug_info.c). */
static void let_libdw_leak(void)
{
#if ADDRESS_SANITIZED
	__lsan_disable();
#endif
}

START_TEST(damaged)
{
	char copy[sizeof(directory) + 8];
	FILE *file = fopen(own, "rb");
	struct stat status;
	uint8_t *data;
	size_t size;

	let_libdw_leak();
	snprintf(copy, sizeof(copy), "%s/copy", directory);
	ck_assert_int_eq(stat(own, &status), 0);
	size = (size_t)status.st_size;
	data = malloc(size);
	ck_assert_uint_eq(fread(data, 1, size, file), size);
	fclose(file);
	srand(1);
	for (int i = 0; i < 12; i++)
		read_damaged(data, size * (size_t)i / 12, copy);
	for (int i = 0; i < 40; i++) {
		/* Debug information is in the file's second half. */
		size_t at = size / 2 + (size_t)rand() % (size / 2);
		uint8_t before = data[at];

		data[at] = (uint8_t)(before ^ (1 << i % 8));
		read_damaged(data, size, copy);
		data[at] = before;
	}
	free(data);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("symbolizer");
	TCase *tests = tcase_create("all");

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, file_itself);
	tcase_add_test(tests, anywhere_below);
	tcase_add_test(tests, by_build_id);
	tcase_add_test(tests, unknown);
	tcase_add_test(tests, no_directory);
	tcase_add_test(tests, damaged);
	suite_add_tcase(s, tests);
	return s;
}

static bool find_own_build_id(void)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	struct elf *elf;
	int size;

	if (elf_open(&elf, own))
		return false;
	size = elf_build_id(elf, id);
	elf_close(elf);
	for (int i = 0; i < size; i++)
		snprintf(build_id + 2 * i, 3, "%02x", id[i]);
	return size > 0;
}

int main(void)
{
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char command[64];
	int failed;

	if (!dwarf_library()) {
		puts("no libdw on this machine");
		return 77;
	}
	if (length <= 0 || !find_own_build_id() || !mkdtemp(directory)) {
		puts("this program has no build-id: the linker writes none");
		return 77;
	}
	message_disabled = true;
	whole();
	failed = suite_run_all(suite());
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) || failed;
}
