/* Checks of the doctor: the program's file, and its dynamic linker. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/asprof.h"
#include "core/text/hex.h"
#include "decoder/doctor/doctor.h"
#include "engine/elf/elf.h"
#include "engine/elf/elf_identity.h"
#include "engine/symbols/debug_file.h"
#include "profile/basics/text.h"

#define OUTPUT_MAX 8192

/* Returns the name of the executed file. */
static const char *executed_file(const struct doctor_subject *p)
{
	return p->pid ? p->program : p->file.file;
}

static struct elf *open_program(const struct doctor_subject *p)
{
	struct elf *elf;

	return elf_open(&elf, p->file.file) ? NULL : elf;
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

void doctor_preloadable(struct doctor_subject *p)
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

	if (!p->requested || p->file.obstacle == PRELOADABLE)
		return;
	preloadable_reason(&p->file, why);
	doctor_add_finding(p, SEVERITY_STOP, names[p->file.obstacle], preloadable_remedy(&p->file),
			   "%s: %s", executed_file(p), why);
}

/* musl's linker lists libraries if its name is ldd. It ignores LD_TRACE_LOADED_OBJECTS. */
static bool is_musl(const char *linker)
{
	const char *base = text_base_name(linker);

	return !strncmp(base, "ld-musl-", 8);
}

/* In the child: execute the linker, with standard output and error to FD. */
__attribute__((noreturn)) static void child_execute_linker(const struct doctor_subject *p,
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

/* Get the linker's line that says why LIBRARY is not loaded. Returns false if there is none. */
static bool glibc_find_complaint(char *output, const char *library, char *line, size_t size)
{
	char *rest;

	for (char *p = strtok_r(output, "\n", &rest); p; p = strtok_r(NULL, "\n", &rest))
		if (strstr(p, library) &&
		    (strstr(p, "cannot be preloaded") || strstr(p, "not found (required by"))) {
			snprintf(line, size, "%s", p);
			return true;
		}
	return false;
}

/* For musl's linker, which prints an error line for a missing function that names the library. It prints nothing for a
 * missing preload, which is then not in the list. */
static bool musl_find_complaint(char *output, const char *library, char *line, size_t size)
{
	bool listed = false;
	char *rest;

	for (char *p = strtok_r(output, "\n", &rest); p; p = strtok_r(NULL, "\n", &rest)) {
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

/* Ask the program's dynamic linker to list what it loads with LIBRARY preloaded, without running the program.
 * Returns true if it accepts LIBRARY; else LINE is its error. */
static bool linker_accepts(const struct doctor_subject *p, const char *library, char *line,
			   size_t size)
{
	char output[OUTPUT_MAX];
	size_t length = 0;
	int fds[2], status = 0;
	ssize_t n;
	pid_t pid;

	/* The linker of a process with another root directory cannot be executed in this one. */
	if (p->pid || !*p->file.linker || pipe2(fds, O_CLOEXEC))
		return true;
	fflush(stdout);
	pid = fork();
	if (!pid)
		child_execute_linker(p, library, fds[1]);
	close(fds[1]);
	while (pid > 0 && ((n = read(fds[0], output + length, sizeof(output) - 1 - length)) > 0 ||
			   (n < 0 && errno == EINTR)))
		length += n > 0 ? (size_t)n : 0;
	close(fds[0]);
	output[length] = '\0';
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		return true;
	return is_musl(p->file.linker) ? !musl_find_complaint(output, library, line, size)
				       : !glibc_find_complaint(output, library, line, size);
}

void doctor_library(struct doctor_subject *p)
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

/* Whether the package asprof-agent-java is installed with the preload. */
static bool has_java_package(const struct doctor_subject *p)
{
	const char *slash = strrchr(p->library, '/');
	char path[PATH_MAX + sizeof(ASYNC_PROFILER_JAVA_FILE)];

	snprintf(path, sizeof(path), "%.*s/" ASYNC_PROFILER_JAVA_FILE,
		 slash ? (int)(slash - p->library) : 0, p->library);
	return slash && !access(path, R_OK);
}

/* Whether the linker finds async-profiler's library, as it would for the agent. LINE is its error. */
static bool has_async_profiler(struct doctor_subject *p, char *line, size_t size)
{
	if (p->config.lib[0] != '/')
		return has_java_package(p) || linker_accepts(p, p->config.lib, line, size);
	snprintf(line, size, "%s: %s", p->config.lib, strerror(ENOENT));
	return !access(p->config.lib, R_OK) && linker_accepts(p, p->config.lib, line, size);
}

#define ENGINE_REMEDY                                                                             \
	"Install the package asprof-agent-java, or set ASPROF_AGENT_LIB to the absolute path of " \
	"async-profiler's library."

void doctor_engine(struct doctor_subject *p)
{
	const char *named = doctor_get_variable(p, OPTION_PREFIX "LIB");
	bool is_required = p->config.engine == ENGINE_ASYNC_PROFILER;
	char line[512];

	if (p->config.engine == ENGINE_BUILTIN || (!is_required && !named) ||
	    has_async_profiler(p, line, sizeof(line)))
		return;
	if (is_required)
		doctor_add_finding(
			p, SEVERITY_STOP, NULL, ENGINE_REMEDY,
			"ASPROF_AGENT_ENGINE is async-profiler, and its library is not found: %s",
			line);
	else
		doctor_add_finding(p, SEVERITY_NOTE, NULL, "Correct or unset ASPROF_AGENT_LIB.",
				   "the builtin engine is used, as ASPROF_AGENT_LIB cannot be "
				   "loaded: %s",
				   line);
}

static bool is_java(const struct doctor_subject *p)
{
	const char *base = text_base_name(p->program);
	struct elf *elf;
	bool java = !strcmp(base, "java");

	if (java)
		return true;
	elf = open_program(p);
	java = elf && (needs_library(elf, "libjli.so") || needs_library(elf, "libjvm.so"));
	elf_close(elf);
	return java;
}

void doctor_java(struct doctor_subject *p)
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
			"not found: they are shown as one frame, [Java]");
}

void doctor_go(struct doctor_subject *p)
{
	if (p->file.is_go)
		doctor_add_finding(
			p, SEVERITY_NOTE, NULL,
			"Use Go's own net/http/pprof for blocked goroutines and for Go's heap.",
			"this is Go: samples are of threads, not of goroutines, and native memory "
			"is only that of C code");
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

void doctor_malloc(struct doctor_subject *p)
{
	struct elf *elf;

	if (p->config.native_mem_bytes == OPTION_OFF)
		return;
	elf = open_program(p);
	if (elf && (defines_malloc(elf, SHT_DYNSYM) || defines_malloc(elf, SHT_SYMTAB)))
		doctor_add_finding(
			p, SEVERITY_NOTE, NULL,
			"Link the allocator as a shared library, or build without it.",
			"the program has its own malloc, whose allocations are not counted "
			"as native memory");
	for (size_t i = 0; elf && i < sizeof(allocators) / sizeof(*allocators); i++)
		if (needs_library(elf, allocators[i]))
			doctor_add_finding(p, SEVERITY_NOTE, NULL,
					   "Profile a build without the allocator if those matter.",
					   "the program uses %s: malloc and similar functions are "
					   "counted, but not "
					   "C++'s new and the allocator's own functions",
					   allocators[i]);
	elf_close(elf);
}

void doctor_unwind(struct doctor_subject *p)
{
	struct elf *elf = p->file.is_go ? NULL : open_program(p); /* Go has tables of its own */

	/* Some linkers, like musl-gcc's, write no search table, but the entries are there. */
	if (elf && !elf_find_segment(elf, PT_GNU_EH_FRAME) && !elf_find_section(elf, ".eh_frame"))
		doctor_add_finding(
			p, SEVERITY_NOTE, NULL,
			"Build it with -fasynchronous-unwind-tables, and do not strip "
			".eh_frame; or with -fno-omit-frame-pointer.",
			"the program has no unwind tables (.eh_frame): its stacks are unwound "
			"by frame pointers and heuristics, and may be truncated");
	elf_close(elf);
}

/* Describe where debug files of ELF are searched for. */
static void describe_debug_paths(struct elf *elf, char *text, size_t size)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	int length = elf_build_id(elf, id);
	char name[ELF_NAME_MAX], hex[2 * ELF_BUILD_ID_MAX + 1];
	size_t n = 0;
	uint32_t crc;

	if (length >= 2) {
		*hex_encode(hex, id, (size_t)length) = '\0';
		n = (size_t)snprintf(text, size, DEBUG_FILE_ROOT "/.build-id/%.2s/%s.debug", hex,
				     hex + 2);
	}
	if (n < size && !elf_debug_link(elf, name, &crc))
		snprintf(text + n, size - n,
			 "%s%s in its directory, in .debug/, or below " DEBUG_FILE_ROOT,
			 n ? ", or " : "", name);
	else if (!n)
		snprintf(text, size, "nowhere, as it has neither a build-id nor a debug link");
}

void doctor_symbols(struct doctor_subject *p)
{
	struct elf *elf = open_program(p), *debug = NULL;
	char text[1024] = "";

	if (!elf || elf_find_section_type(elf, SHT_SYMTAB))
		goto out;
	if (!debug_file_open_separate(&debug, elf, executed_file(p), DEBUG_FILE_ROOT) ||
	    !debug_file_unpack(&debug, elf))
		goto out;
	describe_debug_paths(elf, text, sizeof(text));
	doctor_add_finding(
		p, SEVERITY_NOTE, NULL,
		"Install its debug symbols; or store them elsewhere, and read profiles with "
		"--symbols DIR or --debuginfod.",
		"%s is stripped, so its functions have addresses for names; a debug file is "
		"searched "
		"for "
		"at %s",
		executed_file(p), text);
out:
	elf_close(debug);
	elf_close(elf);
}
