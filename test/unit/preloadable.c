/* decoder/commands/preloadable: programs of this machine, and files made here with a reason against
 * a preload. Programs that need another compiler are in test/system/doctor.sh. */
#include "decoder/doctor/preloadable.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/elf/elf.h"
#include "test/fixtures/folder.h"
#include "test/fixtures/suite.h"

#ifdef __x86_64__
#define OWN    EM_X86_64
#define OTHER  EM_AARCH64
#define LINKER "/lib64/ld-linux-x86-64.so.2"
#else
#define OWN    EM_AARCH64
#define OTHER  EM_X86_64
#define LINKER "/lib/ld-linux-aarch64.so.1"
#endif

static struct preloadable found;

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void look(const char *name)
{
	preloadable_check(&found, in_folder(name));
}

static void put(const char *name, const void *data, size_t size, mode_t mode)
{
	int fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, size), (ssize_t)size);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	close(fd);
}

/* The start of a program, which is all that is read. With LINKER it also needs a library; otherwise it is static. */
static void put_program(const char *name, uint16_t machine, const char *linker, mode_t mode)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment, libraries;
		Elf64_Dyn needed;
		char linker[64];
	} file;

	memset(&file, 0, sizeof(file));
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	file.header.e_ident[EI_DATA] = ELFDATA2LSB;
	file.header.e_type = ET_DYN;
	file.header.e_machine = machine;
	file.header.e_phoff = sizeof(file.header);
	file.header.e_phentsize = sizeof(Elf64_Phdr);
	file.header.e_phnum = linker ? 2 : 1;
	file.segment.p_type = linker ? PT_INTERP : PT_LOAD;
	file.segment.p_offset = offsetof(__typeof__(file), linker);
	file.segment.p_filesz = linker ? strlen(linker) + 1 : 1;
	file.libraries.p_type = PT_DYNAMIC;
	file.libraries.p_offset = offsetof(__typeof__(file), needed);
	file.libraries.p_filesz = sizeof(file.needed);
	file.needed.d_tag = DT_NEEDED;
	strcpy(file.linker, linker ? linker : "");
	put(name, &file, sizeof(file), mode);
}

static const struct {
	const char *linker;
	uint16_t machine;
	enum preloadable_obstacle obstacle;
	const char *why;
} programs[] = {
	{ "/proc/self/exe", OWN, PRELOADABLE_LIBC, "built for another C library" },
	{ LINKER, OTHER, PRELOADABLE_MACHINE, "another processor" },
	{ NULL, OWN, PRELOADABLE_STATIC, "statically linked" },
	{ NULL, OTHER, PRELOADABLE_MACHINE, "another processor" },
	{ "/nowhere/ld-linux.so.2", OWN, PRELOADABLE_LINKER, "linker /nowhere/ld-linux.so.2 is" },
};

START_TEST(programs_are_told_apart)
{
	char why[PRELOADABLE_REASON_MAX];

	put_program("program", programs[_i].machine, programs[_i].linker, 0755);
	look("program");
	ck_assert_int_eq(found.obstacle, programs[_i].obstacle);
	preloadable_reason(&found, why);
	ck_assert_ptr_nonnull(strstr(why, programs[_i].why));
	ck_assert_str_ne(preloadable_remedy(&found), "");
}
END_TEST

START_TEST(fine_program_has_no_words)
{
	char why[PRELOADABLE_REASON_MAX];

	put_program("ld-linux-test.so.2", OWN, NULL, 0755); /* a linker has no linker */
	look("ld-linux-test.so.2");
	ck_assert_int_eq(found.obstacle, PRELOADABLE);
	put_program("fine", OWN, in_folder("ld-linux-test.so.2"), 0755);
	look("fine");
	ck_assert_int_eq(found.obstacle, PRELOADABLE);
	preloadable_reason(&found, why);
	ck_assert_str_eq(why, "");
	ck_assert_str_eq(preloadable_remedy(&found), "");
}
END_TEST

START_TEST(libc_is_told)
{
	char why[PRELOADABLE_REASON_MAX];

	put("ld-musl-x86_64.so.1", "", 0, 0755);
	put_program("program", OWN, in_folder("ld-musl-x86_64.so.1"), 0755);
	look("program");
	ck_assert_int_eq(found.obstacle, PRELOADABLE);
	put_program("ld-musl-x86_64.so.1", OWN, NULL, 0755); /* started as a program, too */
	look("ld-musl-x86_64.so.1");
	ck_assert_int_eq(found.obstacle, PRELOADABLE);
	put("linker64", "", 0, 0755);
	put_program("other", OWN, in_folder("linker64"), 0755);
	look("other");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_LIBC);
	preloadable_reason(&found, why);
	ck_assert_ptr_nonnull(strstr(why, "Android"));
}
END_TEST

START_TEST(wrong_files_are_told)
{
	static const unsigned char narrow[64] = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB };

	put("narrow", narrow, sizeof(narrow), 0755);
	look("narrow");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_MACHINE);
	put("text", "words\n", 6, 0755);
	look("text");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_NO_PROGRAM);
	put("empty", "", 0, 0755);
	look("empty");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_NO_PROGRAM);
	put("cut", narrow, 4, 0755);
	look("cut");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_NO_PROGRAM);
	look("missing");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_NOT_FOUND);
}
END_TEST

START_TEST(scripts_are_followed)
{
	char line[256];
	int n;

	put_program("static", OWN, NULL, 0755);
	n = snprintf(line, sizeof(line), "#! %s -e\nrest", in_folder("static"));
	put("script", line, (size_t)n, 0755);
	look("script");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_STATIC);
	ck_assert_str_eq(found.file, in_folder("static"));

	n = snprintf(line, sizeof(line), "#!%s\n", in_folder("script"));
	put("of_script", line, (size_t)n, 0755);
	look("of_script");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_STATIC);

	setenv("PATH", folder, 1);
	put("by_env", "#!/usr/bin/env -S A=b static\n", 29, 0755);
	look("by_env");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_STATIC);

	n = snprintf(line, sizeof(line), "#!%s\n", in_folder("loop"));
	put("loop", line, (size_t)n, 0755);
	look("loop");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_NO_PROGRAM);
}
END_TEST

START_TEST(privileged_only_for_others)
{
	put("ld-linux-test.so.2", "", 0, 0755);
	put_program("program", OWN, in_folder("ld-linux-test.so.2"), 04755);
	look("program"); /* one's own rights are not gained */
	ck_assert_int_eq(found.obstacle, PRELOADABLE);
	if (getuid()) /* only root can change a file's owner */
		return;
	ck_assert_int_eq(chown(in_folder("program"), 65534, 65534), 0);
	ck_assert_int_eq(chmod(in_folder("program"), 04755), 0);
	look("program");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_PRIVILEGED);
	ck_assert_int_eq(chmod(in_folder("program"), 02755), 0);
	look("program");
	ck_assert_int_eq(found.obstacle, PRELOADABLE_PRIVILEGED);
}
END_TEST

START_TEST(names_are_found_by_path)
{
	char path[PATH_MAX];
	char list[128];

	put("tool", "", 0, 0755);
	put("data", "", 0, 0644);
	snprintf(list, sizeof(list), "/nowhere:%s", folder);
	setenv("PATH", list, 1);
	ck_assert_int_eq(preloadable_find_program("tool", path), 0);
	ck_assert_str_eq(path, in_folder("tool"));
	ck_assert_int_eq(preloadable_find_program("data", path), -ENOENT);
	ck_assert_int_eq(preloadable_find_program("./x/y", path), 0);
	ck_assert_str_eq(path, "./x/y");
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("preloadable");

	tcase_add_checked_fixture(cases, folder_make, folder_remove);
	tcase_add_loop_test(cases, programs_are_told_apart, 0,
			    sizeof(programs) / sizeof(*programs));
	tcase_add_test(cases, fine_program_has_no_words);
	tcase_add_test(cases, libc_is_told);
	tcase_add_test(cases, wrong_files_are_told);
	tcase_add_test(cases, scripts_are_followed);
	tcase_add_test(cases, privileged_only_for_others);
	tcase_add_test(cases, names_are_found_by_path);
	return suite_run(cases);
}
