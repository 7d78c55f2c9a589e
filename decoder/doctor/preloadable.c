/* Check whether the dynamic linker would load the preload into a program. */
#include "decoder/doctor/preloadable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/remote.h"
#include "core/fd.h"
#include "engine/elf/elf.h"
#include "profile/basics/text.h"

/* Limits of the kernel: nested scripts, and length of a script's first line. */
#define SCRIPTS_MAX    4
#define FIRST_LINE_MAX 256

/* `run` executes only regular executable files; for others the shell's message is enough. */
static bool path_is_executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

int preloadable_find_program(const char *name, char path[PATH_MAX])
{
	const char *p = getenv("PATH");
	int length, n;

	if (strchr(name, '/')) {
		n = snprintf(path, PATH_MAX, "%s", name);
		return n < PATH_MAX ? 0 : -ENAMETOOLONG;
	}
	for (p = p ? p : "/bin:/usr/bin";; p += length + 1) {
		length = (int)strcspn(p, ":");
		n = snprintf(path, PATH_MAX, "%.*s%s%s", length, p, length ? "/" : "./", name);
		if (n < PATH_MAX && path_is_executable(path))
			return 0;
		if (!p[length])
			return -ENOENT;
	}
}

/* Get the program of a script's first line. For "/usr/bin/env -S python3 -u" it is python3, found in PATH. */
static int script_find_program(char *line, char path[PATH_MAX])
{
	char *rest, *word = strtok_r(line, " \t", &rest);
	const char *base;

	if (!word)
		return -ENOEXEC;
	base = text_base_name(word);
	if (strcmp(base, "env")) {
		int n = snprintf(path, PATH_MAX, "%s", word);

		return n < PATH_MAX ? 0 : -ENAMETOOLONG;
	}
	do
		word = strtok_r(NULL, " \t", &rest);
	while (word && (*word == '-' || strchr(word, '=')));
	return word ? preloadable_find_program(word, path) : -ENOEXEC;
}

/* Whether PATH begins with "#!". Then PROGRAM is the interpreter, and *ERR the result of its search. */
static bool read_script(const char *path, char program[PATH_MAX], int *err)
{
	char line[FIRST_LINE_MAX + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, FIRST_LINE_MAX);

	*err = fd < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	if (n < 3 || memcmp(line, "#!", 2))
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	*err = script_find_program(line + 2, program);
	return true;
}

/* Whether the file grants rights of another user than the caller, or capabilities to a caller that is not root.
 * Then the kernel sets AT_SECURE, and the linker ignores LD_PRELOAD. */
static bool file_is_privileged(const char *path)
{
	char capabilities[64];
	struct statvfs fs;
	struct stat st;

	if (stat(path, &st) || (!statvfs(path, &fs) && fs.f_flag & ST_NOSUID))
		return false;
	if (st.st_mode & S_ISUID && st.st_uid != getuid())
		return true;
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
		return true;
	return getuid() &&
	       getxattr(path, "security.capability", capabilities, sizeof(capabilities)) > 0;
}

/* Symbols of sanitizers. Clang links its address sanitizer into the program, which works with a preload. gcc's is a
 * library that ends the program if another one is loaded before. */
static const struct {
	const char *symbol, *name;
	bool if_undefined;
} sanitizers[] = {
	{ "__asan_init", "gcc's address sanitizer", true },
	{ "__tsan_init", "the thread sanitizer", false },
	{ "__lsan_init", "the leak sanitizer", false },
	{ "__msan_init", "the memory sanitizer", false },
};

struct symbol_search {
	struct elf *elf;
	const Elf64_Shdr *strings;
	const char *found;
};

static int find_sanitizer_symbol(void *context, const Elf64_Sym *symbol)
{
	struct symbol_search *search = context;
	char name[16];

	if (elf_string(search->elf, search->strings, symbol->st_name, name, sizeof(name)) <= 0)
		return 0;
	for (size_t i = 0; i < sizeof(sanitizers) / sizeof(*sanitizers); i++)
		if (!strcmp(name, sanitizers[i].symbol) &&
		    !(sanitizers[i].if_undefined && symbol->st_shndx != SHN_UNDEF))
			search->found = sanitizers[i].name;
	return search->found != NULL;
}

static const char *find_sanitizer(struct elf *elf)
{
	const Elf64_Shdr *table = elf_find_section_type(elf, SHT_DYNSYM);
	struct symbol_search search = { .elf = elf };

	if (!table || table->sh_link >= elf_section_count(elf))
		return NULL;
	search.strings = elf_section(elf, table->sh_link);
	elf_symbols(elf, table, find_sanitizer_symbol, &search);
	return search.found;
}

/* Returns the name of an unsupported C library, recognized by its linker; NULL for glibc and musl. */
static const char *linker_other_libc(const char *linker)
{
	const char *base = text_base_name(linker);

	if (!strncmp(base, "ld-musl-", 8) || !strncmp(base, "ld-linux", 8) ||
	    !strncmp(base, "ld-2.", 5) || !strcmp(base, "ld.so.1"))
		return NULL;
	return !strncmp(base, "linker", 6) ? "Android" : "another C library";
}

static int preloadable_read_linker(struct preloadable *p, struct elf *elf)
{
	const Elf64_Phdr *segment = elf_find_segment(elf, PT_INTERP);

	if (!segment)
		return 0;
	if (segment->p_filesz < 2 || segment->p_filesz > sizeof(p->linker))
		return -ENOEXEC;
	p->linker[segment->p_filesz - 1] = '\0';
	return elf_read(elf, segment->p_offset, p->linker, segment->p_filesz - 1);
}

/* Whether the program names a library that it needs. */
static bool needs_library(struct elf *elf)
{
	const Elf64_Phdr *dynamic = elf_find_segment(elf, PT_DYNAMIC);
	Elf64_Dyn entry;

	for (uint64_t at = 0; dynamic && at + sizeof(entry) <= dynamic->p_filesz;
	     at += sizeof(entry)) {
		if (elf_read(elf, dynamic->p_offset + at, &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_NEEDED)
			return true;
	}
	return false;
}

/* Whether PATH is a dynamic linker. Called as a program, it loads the preload into its argument. */
static bool path_is_linker(const char *path)
{
	const char *base = text_base_name(path);

	return !strncmp(base, "ld-linux", 8) || !strncmp(base, "ld-musl-", 8) ||
	       !strncmp(base, "ld-2.", 5) || !strcmp(base, "ld.so");
}

static enum preloadable_obstacle elf_find_obstacle(struct preloadable *p, struct elf *elf,
						   const char *path)
{
	if (elf_header(elf)->e_machine != ARCH_ELF_MACHINE)
		return PRELOADABLE_MACHINE;
	p->is_go = elf_find_section(elf, ".go.buildinfo") != NULL;
	if (preloadable_read_linker(p, elf))
		return PRELOADABLE_NO_PROGRAM;
	/* (Go builds programs that name a linker but no library.) */
	if (!*p->linker || !needs_library(elf))
		return path_is_linker(path) ? PRELOADABLE : PRELOADABLE_STATIC;
	if (access(p->linker, R_OK))
		return PRELOADABLE_LINKER;
	p->name = linker_other_libc(p->linker);
	if (p->name)
		return PRELOADABLE_LIBC;
	p->name = find_sanitizer(elf);
	return p->name ? PRELOADABLE_SANITIZER : PRELOADABLE;
}

/* Get the obstacle of a file that elf_open() rejects, which may be a 32-bit ELF file. */
static enum preloadable_obstacle unreadable_find_obstacle(const char *path, int err)
{
	unsigned char ident[EI_NIDENT] = { 0 };
	int fd;

	if (err == -ENOENT || err == -ENOTDIR)
		return PRELOADABLE_NOT_FOUND;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return PRELOADABLE_UNREADABLE;
	err = fd_read(fd, ident, sizeof(ident), 0);
	close(fd);
	return !err && !memcmp(ident, ELFMAG, SELFMAG) ? PRELOADABLE_MACHINE
						       : PRELOADABLE_NO_PROGRAM;
}

static enum preloadable_obstacle file_find_obstacle(struct preloadable *p, const char *path)
{
	enum preloadable_obstacle obstacle;
	struct elf *elf;
	int err = elf_open(&elf, path);

	if (err)
		return unreadable_find_obstacle(path, err);
	obstacle = elf_find_obstacle(p, elf, path);
	elf_close(elf);
	if ((obstacle == PRELOADABLE || obstacle == PRELOADABLE_STATIC) && file_is_privileged(path))
		return PRELOADABLE_PRIVILEGED;
	return obstacle;
}

void preloadable_check(struct preloadable *out, const char *program)
{
	char next[PATH_MAX];
	int err;

	memset(out, 0, sizeof(*out));
	snprintf(out->file, sizeof(out->file), "%s", program);
	for (int i = 0;; i++) {
		if (i > SCRIPTS_MAX || !read_script(out->file, next, &err))
			break;
		if (err) {
			out->obstacle = PRELOADABLE_NOT_FOUND;
			return;
		}
		snprintf(out->file, sizeof(out->file), "%s", next);
	}
	out->obstacle = file_find_obstacle(out, out->file);
}

static const struct {
	const char *reason, *remedy; /* %s in reason: name, else the linker */
} obstacle_texts[PRELOADABLE_OBSTACLES] = {
	[PRELOADABLE] = { "", "" },
	[PRELOADABLE_NOT_FOUND] = { "there is no such program", "Check its name and PATH." },
	[PRELOADABLE_UNREADABLE] = { "it cannot be read, so it cannot be checked",
				     "Run this as a user who can read it." },
	[PRELOADABLE_NO_PROGRAM] = { "it is neither an ELF file nor a script",
				     "Name the program itself." },
	[PRELOADABLE_MACHINE] = { "it is built for another processor or for 32 bits, unlike the "
				  "preload",
				  "Build the program for this architecture, or the agent for the "
				  "program's." },
	[PRELOADABLE_STATIC] = { "it is statically linked, so it has no use for a preload",
				 "Start it by asprof-agent run or asprof-agent-launch, or link it "
				 "dynamically." },
	[PRELOADABLE_PRIVILEGED] = { "it gains privileges from its file (set-user-ID, set-group-ID "
				     "or capabilities), so LD_PRELOAD is ignored",
				     "Start it as that user, without the mode bits or capabilities "
				     "of the file." },
	[PRELOADABLE_LINKER] = { "its dynamic linker %s is missing, so it cannot start",
				 "Install the C library that it was built for." },
	[PRELOADABLE_LIBC] = { "it is built for %s, and the preload supports glibc and musl only",
			       "Build the program for one of them." },
	[PRELOADABLE_SANITIZER] = { "it is built with %s, which does not work with a profiler",
				    "Profile a build without -fsanitize." },
};

void preloadable_reason(const struct preloadable *p, char line[PRELOADABLE_REASON_MAX])
{
	const char *reason = obstacle_texts[p->obstacle].reason, *hole = strstr(reason, "%s");

	if (hole)
		snprintf(line, PRELOADABLE_REASON_MAX, "%.*s%s%s", (int)(hole - reason), reason,
			 p->name ? p->name : p->linker, hole + 2);
	else
		snprintf(line, PRELOADABLE_REASON_MAX, "%s", reason);
}

const char *preloadable_remedy(const struct preloadable *p)
{
	if (p->obstacle == PRELOADABLE_STATIC && !remote_is_supported())
		return p->is_go ? "Build it with CGO_ENABLED=1 and -ldflags=-linkmode=external."
				: "Link it dynamically.";
	return obstacle_texts[p->obstacle].remedy;
}
