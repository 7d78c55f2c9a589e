/* What the doctor finds in a program's file, and by asking its dynamic linker. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decoder/commands/doctor.h"
#include "engine/elf/elf.h"
#include "engine/elf/elf_identity.h"
#include "engine/symbols/debug_file.h"

#define SAID_MAX 8192

static struct elf *open_program(const struct patient *p)
{
	char path[2 * PATH_MAX];
	struct elf *elf;

	snprintf(path, sizeof(path), "%s%s", strncmp(p->file.file, "/proc/", 6) ? p->root : "",
		 p->file.file);
	return elf_open(&elf, path) ? NULL : elf;
}

/* Whether the program is linked against a library whose name begins with PREFIX. */
static bool needs_library(struct elf *elf, const char *prefix)
{
	const Elf64_Shdr *dynamic = elf_find_section_type(elf, SHT_DYNAMIC);
	const Elf64_Shdr *strings;
	char name[64];
	Elf64_Dyn entry;

	if (!dynamic || dynamic->sh_link >= elf_section_count(elf))
		return false;
	strings = elf_section(elf, dynamic->sh_link);
	for (uint64_t at = 0;
	     !elf_read_section(elf, dynamic, at, &entry, sizeof(entry)) && entry.d_tag != DT_NULL;
	     at += sizeof(entry))
		if (entry.d_tag == DT_NEEDED &&
		    elf_string(elf, strings, entry.d_un.d_val, name, sizeof(name)) > 0 &&
		    !strncmp(name, prefix, strlen(prefix)))
			return true;
	return false;
}

void doctor_preloadable(struct patient *p)
{
	static const char *const names[PRELOADABLE_OBSTACLES] = {
		[PRELOADABLE_MACHINE] = "architecture",
		[PRELOADABLE_STATIC] = "static",
		[PRELOADABLE_PRIVILEGED] = "set-user-ID",
		[PRELOADABLE_LINKER] = "libc",
		[PRELOADABLE_LIBC] = "libc",
		[PRELOADABLE_SANITIZER] = "sanitizer",
	};
	char why[PRELOADABLE_REASON_MAX];

	if (!p->asked || p->file.obstacle == PRELOADABLE)
		return;
	preloadable_reason(&p->file, why);
	doctor_add_finding(p, SEVERITY_STOP, names[p->file.obstacle], preloadable_remedy(&p->file),
			   "%s: %s", p->pid ? p->program : p->file.file, why);
}

/* musl's linker lists what it would load when it is called by that name; the variable says nothing to it. */
static bool is_musl(const char *linker)
{
	const char *base = strrchr(linker, '/') ? strrchr(linker, '/') + 1 : linker;

	return !strncmp(base, "ld-musl-", 8);
}

/* In the child: standard output and error go to FD. */
__attribute__((noreturn)) static void child_execute_linker(const struct patient *p,
							   const char *library, int fd)
{
	char program[2 * PATH_MAX];

	snprintf(program, sizeof(program), "%s", p->file.file);
	if (dup2(fd, 1) < 0 || dup2(fd, 2) < 0 || setenv("LD_PRELOAD", library, 1) ||
	    setenv("LD_TRACE_LOADED_OBJECTS", "1", 1))
		_exit(1);
	execl(p->file.linker, is_musl(p->file.linker) ? "ldd" : p->file.linker, program, NULL);
	_exit(1);
}

/* The line about LIBRARY that tells why it is not loaded. */
static bool glibc_find_complaint(char *said, const char *library, char *line, size_t size)
{
	char *rest;

	for (char *p = strtok_r(said, "\n", &rest); p; p = strtok_r(NULL, "\n", &rest))
		if (strstr(p, library) &&
		    (strstr(p, "cannot be preloaded") || strstr(p, "not found (required by"))) {
			snprintf(line, size, "%s", p);
			return true;
		}
	return false;
}

/* musl's linker says of a function that is missing who wanted it, and of a file to be preloaded that is not
 * there nothing: it is not in the list. */
static bool musl_find_complaint(char *said, const char *library, char *line, size_t size)
{
	bool listed = false;
	char *rest;

	for (char *p = strtok_r(said, "\n", &rest); p; p = strtok_r(NULL, "\n", &rest)) {
		if (!strstr(p, library))
			continue;
		listed = true;
		if (!strncmp(p, "Error ", 6)) {
			snprintf(line, size, "%s", p);
			return true;
		}
	}
	if (!listed)
		snprintf(line, size, "%s cannot be preloaded: musl's linker does not find it",
			 library);
	return !listed;
}

bool linker_accepts(const struct patient *p, const char *library, char *line, size_t size)
{
	char said[SAID_MAX];
	size_t length = 0;
	int fds[2], status = 0;
	ssize_t n;
	pid_t pid;

	/* Of a process with a root of its own the linker would be asked outside of it. */
	if (p->pid || !*p->file.linker || pipe2(fds, O_CLOEXEC))
		return true;
	fflush(stdout);
	pid = fork();
	if (!pid)
		child_execute_linker(p, library, fds[1]);
	close(fds[1]);
	while (pid > 0 && ((n = read(fds[0], said + length, sizeof(said) - 1 - length)) > 0 ||
			   (n < 0 && errno == EINTR)))
		length += n > 0 ? (size_t)n : 0;
	close(fds[0]);
	said[length] = '\0';
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		return true;
	return is_musl(p->file.linker) ? !musl_find_complaint(said, library, line, size)
				       : !glibc_find_complaint(said, library, line, size);
}

void doctor_library(struct patient *p)
{
	char line[512];

	if (linker_accepts(p, p->library, line, sizeof(line)))
		return;
	if (strstr(line, "not found (required by") || strstr(line, "symbol not found"))
		doctor_add_finding(
			p, SEVERITY_STOP, "libc",
			"Run the program with the C library that the agent was built for, or a "
			"newer one.",
			"the program's C library is too old: %s", line);
	else
		doctor_add_finding(
			p, SEVERITY_STOP, NULL,
			"Install the agent (make install) and run ldconfig, or name the file by "
			"its path in LD_PRELOAD.",
			"%s", line);
}

/* async-profiler is looked for as the agent would have the linker look for it. */
static bool has_async_profiler(struct patient *p, char *line, size_t size)
{
	char path[2 * PATH_MAX];

	if (p->config.lib[0] != '/')
		return linker_accepts(p, p->config.lib, line, size);
	snprintf(path, sizeof(path), "%s%s", p->root, p->config.lib);
	snprintf(line, size, "%s: %s", p->config.lib, strerror(ENOENT));
	return !access(path, R_OK) && linker_accepts(p, p->config.lib, line, size);
}

#define ENGINE_REMEDY                                                                            \
	"Install async-profiler, and name its library in ASPROF_AGENT_LIB by an absolute path, " \
	"or where ldconfig finds it."

void doctor_engine(struct patient *p)
{
	char line[512];

	if (p->config.engine == ENGINE_ASYNC_PROFILER && !has_async_profiler(p, line, sizeof(line)))
		doctor_add_finding(
			p, SEVERITY_STOP, NULL, ENGINE_REMEDY,
			"ASPROF_AGENT_ENGINE is async-profiler, and its library is not found: %s",
			line);
}

static bool is_java(const struct patient *p)
{
	const char *base = strrchr(p->program, '/') ? strrchr(p->program, '/') + 1 : p->program;
	struct elf *elf;
	bool java = !strcmp(base, "java");

	if (java)
		return true;
	elf = open_program(p);
	java = elf && (needs_library(elf, "libjli.so") || needs_library(elf, "libjvm.so"));
	elf_close(elf);
	return java;
}

void doctor_java(struct patient *p)
{
	char line[512];

	if (!is_java(p))
		return;
	if (p->config.engine == ENGINE_BUILTIN)
		doctor_add_finding(
			p, SEVERITY_NOTE, NULL, "Unset ASPROF_AGENT_ENGINE.",
			"this is Java, whose methods the builtin engine shows as one frame, "
			"[Java]");
	else if (!has_async_profiler(p, line, sizeof(line)))
		doctor_add_finding(
			p, SEVERITY_NOTE, NULL, ENGINE_REMEDY,
			"this is Java, whose methods only async-profiler names, and its library is "
			"not found: they will stand as one frame, [Java]");
}

void doctor_go(struct patient *p)
{
	if (p->file.go)
		doctor_add_finding(
			p, SEVERITY_NOTE, NULL,
			"Use Go's own net/http/pprof for what goroutines wait for, and for Go's "
			"heap.",
			"this is Go: samples are of threads, whichever goroutine each runs, and "
			"native memory is that of C code only");
}

struct definition {
	struct elf *elf;
	const Elf64_Shdr *strings;
};

static int is_malloc(void *context, const Elf64_Sym *symbol)
{
	struct definition *d = context;
	char name[16];

	return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
	       elf_string(d->elf, d->strings, symbol->st_name, name, sizeof(name)) > 0 &&
	       !strcmp(name, "malloc");
}

static bool defines_malloc(struct elf *elf, uint32_t type)
{
	const Elf64_Shdr *table = elf_find_section_type(elf, type);
	struct definition d = { .elf = elf };

	if (!table || table->sh_link >= elf_section_count(elf))
		return false;
	d.strings = elf_section(elf, table->sh_link);
	return elf_symbols(elf, table, is_malloc, &d) == 1;
}

static const char *const allocators[] = { "libjemalloc.so", "libtcmalloc", "libmimalloc.so" };

void doctor_malloc(struct patient *p)
{
	struct elf *elf;

	if (p->config.native_mem_bytes == OPTION_OFF)
		return;
	elf = open_program(p);
	if (elf && (defines_malloc(elf, SHT_DYNSYM) || defines_malloc(elf, SHT_SYMTAB)))
		doctor_add_finding(
			p, SEVERITY_NOTE, NULL,
			"Link the allocator as a shared library, or build without it.",
			"the program has a malloc of its own: what it allocates by that is "
			"not seen "
			"as native memory");
	for (size_t i = 0; elf && i < sizeof(allocators) / sizeof(*allocators); i++)
		if (needs_library(elf, allocators[i]))
			doctor_add_finding(
				p, SEVERITY_NOTE, NULL,
				"Profile a build without the allocator where those count.",
				"the program uses %s: malloc and its relatives are seen, but not "
				"C++'s new, nor the allocator's own functions",
				allocators[i]);
	elf_close(elf);
}

void doctor_unwind(struct patient *p)
{
	struct elf *elf = open_program(p);

	/* (A linker that makes no table to search in, as musl-gcc's, leaves the entries themselves.) */
	if (elf && !elf_find_segment(elf, PT_GNU_EH_FRAME) && !elf_find_section(elf, ".eh_frame"))
		doctor_add_finding(p, SEVERITY_NOTE, NULL,
				   "Build it with -fasynchronous-unwind-tables, and do not strip "
				   ".eh_frame; or "
				   "with -fno-omit-frame-pointer.",
				   "the program has no unwind tables (.eh_frame): its stacks are "
				   "walked by "
				   "frame pointers and guesses, and may end early");
	elf_close(elf);
}

/* Where debug files of ELF would be, as words. */
static void describe_debug_paths(struct elf *elf, char *text, size_t size)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	int length = elf_build_id(elf, id);
	char name[ELF_NAME_MAX];
	size_t n = 0;
	uint32_t crc;

	if (length >= 2) {
		n = (size_t)snprintf(text, size, DEBUG_FILE_ROOT "/.build-id/%02x/", id[0]);
		for (int i = 1; i < length && n < size; i++)
			n += (size_t)snprintf(text + n, size - n, "%02x", id[i]);
		if (n < size)
			n += (size_t)snprintf(text + n, size - n, ".debug");
	}
	if (n < size && !elf_debug_link(elf, name, &crc))
		snprintf(text + n, size - n,
			 "%s%s beside it, in .debug/, or below " DEBUG_FILE_ROOT, n ? ", or " : "",
			 name);
	else if (!n)
		snprintf(text, size, "nowhere, as it has neither a build-id nor a debug link");
}

void doctor_symbols(struct patient *p)
{
	struct elf *elf = open_program(p), *debug = NULL;
	char text[1024] = "";

	if (!elf || elf_find_section_type(elf, SHT_SYMTAB))
		goto out;
	if (!debug_file_open_separate(&debug, elf, p->file.file, DEBUG_FILE_ROOT) ||
	    !debug_file_unpack(&debug, elf))
		goto out;
	describe_debug_paths(elf, text, sizeof(text));
	doctor_add_finding(
		p, SEVERITY_NOTE, NULL,
		"Install its debug symbols; or keep them elsewhere, and read profiles with "
		"--symbols DIR or --debuginfod.",
		"%s is stripped, so its functions are shown by address; a debug file is looked for "
		"at %s",
		p->file.file, text);
out:
	elf_close(debug);
	elf_close(elf);
}
