/* asprof-agent-launch PROGRAM [ARGUMENT...]: the ENTRYPOINT of a container image that has no shell.
 * asprof-agent-launch --copy-to DIRECTORY: copies the agent, for an init container.
 *
 * Executes the program, with libasprof_preload.so in LD_PRELOAD where the program can be profiled; else
 * without it, after one line on standard error with the reason. The agent is put into a static program by a
 * tracer. The launcher is static and has no C library, so that it runs in any image. It makes the same
 * checks as asprof-agent-entrypoint and decoder/doctor/preloadable.c. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "attach/tracing/tracer.h"
#include "launcher/raw.h"

#define ME       "asprof-agent-launch"
#define PRELOAD  "libasprof_preload.so"
#define ATTACHED "libasprof_attach.so" /* for static programs */

/* As of a shell. */
enum { LAUNCH_USAGE = 2, LAUNCH_CANNOT_EXECUTE = 126, LAUNCH_NOT_FOUND = 127 };

static const char is_static[] = "it is statically linked, so it has no use for a preload";

#define SCRIPTS_MAX 4
#define OUTPUT_MAX  4096

/* The compiler may call these. */
void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
void launch(long *stack);

void *memcpy(void *to, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = ((const char *)from)[i];
	return to;
}

void *memset(void *to, int value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = (char)value;
	return to;
}

static size_t length(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

static bool starts_with(const char *text, const char *start)
{
	while (*start)
		if (*text++ != *start++)
			return false;
	return true;
}

static bool is_same(const char *a, const char *b)
{
	return starts_with(a, b) && length(a) == length(b);
}

static const char *find(const char *text, const char *what)
{
	for (; *text; text++)
		if (starts_with(text, what))
			return text;
	return NULL;
}

/* The part after the last '/', or all. */
static const char *base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

/* Concatenate A, B and C into TO. Returns false, with "" in TO, where they do not fit. */
static bool join(char *to, size_t size, const char *a, size_t a_length, const char *b,
		 const char *c)
{
	size_t b_length = length(b), c_length = length(c);

	*to = '\0';
	if (a_length >= size || b_length >= size || c_length >= size ||
	    a_length + b_length + c_length >= size)
		return false;
	memcpy(to, a, a_length);
	memcpy(to + a_length, b, b_length);
	memcpy(to + a_length + b_length, c, c_length + 1);
	return true;
}

/* Write the texts up to a NULL as one line, by one write(2), to standard error. */
__attribute__((sentinel)) static void print_error(const char *text, ...)
{
	char line[3 * PATH_MAX];
	size_t n = 0, more;
	va_list list;

	va_start(list, text);
	for (; text; text = va_arg(list, const char *)) {
		more = length(text);
		if (more > sizeof(line) - 1 - n)
			more = sizeof(line) - 1 - n;
		memcpy(line + n, text, more);
		n += more;
	}
	va_end(list);
	line[n] = '\n';
	raw_write(2, line, n + 1);
}

static const char *environment_get(char *const *envp, const char *name)
{
	for (; *envp; envp++)
		if (starts_with(*envp, name) && (*envp)[length(name)] == '=')
			return *envp + length(name) + 1;
	return NULL;
}

/* --- files ----------------------------------------------------------------------- */

static bool is_file(const char *path, int mode)
{
	/* A directory can have the execute permission too, but it has an entry ".". */
	char inside[PATH_MAX + 2];

	return !raw_access(path, mode) &&
	       (!join(inside, sizeof(inside), path, length(path), "/.", "") ||
		raw_access(inside, 0 /* F_OK */) != 0);
}

/* As execvp(3): NAME, or the first in PATH. Returns 0 or -errno. */
static int find_program(const char *name, char *const *envp, char path[PATH_MAX])
{
	const char *p = environment_get(envp, "PATH");
	int err = -ENOENT;
	size_t n;

	if (base_name(name) != name) {
		if (!join(path, PATH_MAX, name, length(name), "", ""))
			return -ENAMETOOLONG;
		return is_file(path, 1) ? 0 : raw_access(path, 0) ? -ENOENT : -EACCES;
	}
	for (p = p ? p : "/bin:/usr/bin";; p += n + 1) {
		for (n = 0; p[n] && p[n] != ':'; n++)
			;
		if (join(path, PATH_MAX, p, n, n ? "/" : "./", name)) {
			if (is_file(path, 1 /* X_OK */))
				return 0;
			if (is_file(path, 0))
				err = -EACCES;
		}
		if (!p[n])
			return err;
	}
}

/* The path of the library next to this program, or in the lib directory next to its bin; else its name alone, which the
 * dynamic linker searches for. ARGV0 is used where /proc is missing. */
static void find_library(const char *argv0, char path[PATH_MAX])
{
	static const char *const places[] = { "", "lib/", "lib64/" };
	char self[PATH_MAX], cwd[PATH_MAX], with_cwd[PATH_MAX];
	long n = raw_readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t directory;

	self[n > 0 ? n : 0] = '\0';
	if (n <= 0)
		join(self, sizeof(self), argv0, length(argv0), "", "");
	if (*self != '/' && raw_getcwd(cwd, sizeof(cwd)) > 0 && *cwd == '/' &&
	    join(with_cwd, sizeof(with_cwd), cwd, length(cwd), "/", self))
		memcpy(self, with_cwd, length(with_cwd) + 1);
	directory = (size_t)(base_name(self) - self);
	for (size_t i = 0; *self == '/' && i < sizeof(places) / sizeof(*places); i++) {
		if (join(path, PATH_MAX, self, directory, places[i], PRELOAD) && is_file(path, 4))
			return;
		/* The next places are below the parent directory. */
		while (!i && directory > 1 && self[--directory - 1] != '/')
			;
	}
	join(path, PATH_MAX, PRELOAD, length(PRELOAD), "", "");
}

/* The path of the file for static programs: below the directory of the library, as installed, or in it. Returns false if
 * it is in neither. */
static bool find_attached(const char *library, char path[PATH_MAX])
{
	static const char *const places[] = { "asprof-agent/", "" };
	size_t directory = (size_t)(base_name(library) - library);

	for (size_t i = 0; directory && i < sizeof(places) / sizeof(*places); i++)
		if (join(path, PATH_MAX, library, directory, places[i], ATTACHED) &&
		    is_file(path, 4))
			return true;
	return false;
}

/* --- checks of the program -------------------------------------------------------------------- */

/* The interpreter in a script's first line: the first word, or the first after env(1) and its switches. */
static char *script_interpreter(char *line)
{
	bool after_env = false;
	char *word;

	for (;; line++) {
		while (*line == ' ' || *line == '\t')
			line++;
		word = line;
		while (*line && *line != ' ' && *line != '\t')
			line++;
		if (line == word)
			return NULL;
		if (!*line)
			return word;
		*line = '\0';
		if (!after_env && starts_with(base_name(word), "env") && !base_name(word)[3])
			after_env = true;
		else if (!after_env || !(*word == '-' || find(word, "=")))
			return word;
	}
}

/* Where PATH is a script, replace it by the path of its interpreter. */
static void follow_scripts(char path[PATH_MAX], char *const *envp)
{
	char line[257], next[PATH_MAX], *word;
	long n, fd;

	for (int i = 0; i < SCRIPTS_MAX; i++) {
		fd = raw_openat(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return;
		n = raw_read((int)fd, line, sizeof(line) - 1);
		raw_close((int)fd);
		if (n < 3 || line[0] != '#' || line[1] != '!')
			return;
		line[n] = '\0';
		for (n = 0; line[n] && line[n] != '\n'; n++)
			;
		line[n] = '\0';
		word = script_interpreter(line + 2);
		if (!word || find_program(word, envp, next))
			return;
		memcpy(path, next, PATH_MAX);
	}
}

/* Whether the program names a library that it needs, in its segment DYNAMIC. */
static bool needs_library(int fd, const Elf64_Phdr *dynamic)
{
	Elf64_Dyn entry;

	for (unsigned long at = 0; at + sizeof(entry) <= dynamic->p_filesz; at += sizeof(entry)) {
		if (raw_pread(fd, &entry, sizeof(entry), (long)(dynamic->p_offset + at)) !=
			    sizeof(entry) ||
		    entry.d_tag == DT_NULL)
			return false;
		if (entry.d_tag == DT_NEEDED)
			return true;
	}
	return false;
}

static bool read_path(int fd, const Elf64_Phdr *segment, char path[PATH_MAX])
{
	long size = (long)segment->p_filesz;

	return size >= 2 && size <= PATH_MAX &&
	       raw_pread(fd, path, (unsigned long)size, (long)segment->p_offset) == size &&
	       !path[size - 1];
}

/* Read the dynamic linker's path from the open program. Returns "" or the reason why the program cannot be profiled. Go
 * builds programs that name a linker but no library, so they have no C library either. */
static const char *read_linker(int fd, char linker[PATH_MAX])
{
	bool has_linker = false, has_library = false;
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	*linker = '\0';
	if (raw_pread(fd, &header, sizeof(header), 0) < 20 ||
	    !starts_with((const char *)header.e_ident, ELFMAG))
		return "it is neither an ELF file nor a script";
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != ARCH_ELF_MACHINE)
		return "it is built for another architecture than " PRELOAD;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		if (raw_pread(fd, &segment, sizeof(segment),
			      (long)(header.e_phoff + i * sizeof(segment))) != sizeof(segment))
			return "it is damaged";
		if (segment.p_type == PT_INTERP && !read_path(fd, &segment, linker))
			return "it is damaged";
		has_linker |= segment.p_type == PT_INTERP;
		has_library |= segment.p_type == PT_DYNAMIC && needs_library(fd, &segment);
	}
	return has_linker && has_library ? "" : is_static;
}

/* By statx(2), whose struct is the same on every processor. */
static bool is_privileged(const char *path)
{
	struct statx stx;
	char capabilities[64];

	if (raw_call(SYS_getuid, 0, 0, 0, 0, 0) &&
	    raw_call(SYS_getxattr, (long)path, (long)"security.capability", (long)capabilities,
		     sizeof(capabilities), 0) > 0)
		return true;
	if (raw_call(SYS_statx, AT_FDCWD, (long)path, 0, STATX_BASIC_STATS, (long)&stx) < 0)
		return false;
	return (stx.stx_mode & S_ISUID &&
		stx.stx_uid != (uint32_t)raw_call(SYS_getuid, 0, 0, 0, 0, 0)) ||
	       ((stx.stx_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		stx.stx_gid != (uint32_t)raw_call(SYS_getgid, 0, 0, 0, 0, 0));
}

/* PRESENT is the value of LD_PRELOAD. */
static bool is_preloaded(const char *present)
{
	const char *at = find(present, PRELOAD);

	return at && (at == present || at[-1] == '/' || at[-1] == ':' || at[-1] == ' ');
}

/* Insert LIBRARY as the first library in LD_PRELOAD. There is room for one entry before ENVP.
 * Returns the new start of the environment, or NULL where LD_PRELOAD becomes too long. */
static char **set_preload(char **envp, const char *library)
{
	static char entry[PATH_MAX + 65536];
	const char *present = environment_get(envp, "LD_PRELOAD");
	char **at = envp;

	if (present && is_preloaded(present))
		return envp;
	if (!join(entry, PATH_MAX, "LD_PRELOAD=", 11, library, present && *present ? ":" : ""))
		return NULL;
	if (present && *present &&
	    !join(entry + length(entry), 65536, present, length(present), "", ""))
		return NULL;
	while (present && *at && *at + 11 != present)
		at++;
	if (!present)
		at = --envp;
	*at = entry;
	return envp;
}

/* Run the dynamic linker to list the libraries that it would load, without running the program. It reports whether it
 * finds the C library and all symbols that the preload needs. Its output is written to OUTPUT.
 * Returns its status, or -1. */
static int ask_linker(const char *linker, const char *program, const char *library, char **envp,
		      char output[OUTPUT_MAX])
{
	char *argv[] = { (char *)linker, (char *)program, NULL };
	int fds[2], status = -1;
	size_t n = 0;
	char rest[256];
	long pid, got;

	*output = '\0';
	if (raw_pipe(fds) < 0)
		return -1;
	pid = raw_fork();
	if (pid == 0) {
		raw_dup3(fds[1], 1);
		raw_dup3(fds[1], 2);
		if (fds[1] > 2)
			raw_close(fds[1]);
		raw_close(fds[0]);
		/* (In this child the argv before the environment is a copy that nothing needs.) */
		envp = set_preload(envp, library);
		if (envp) {
			*--envp = (char *)"LD_TRACE_LOADED_OBJECTS=1";
			raw_execve(linker, argv, envp);
		}
		raw_exit(LAUNCH_CANNOT_EXECUTE);
	}
	raw_close(fds[1]);
	while (pid > 0 &&
	       ((got = raw_read(fds[0], n < OUTPUT_MAX - 1 ? output + n : rest,
				n < OUTPUT_MAX - 1 ? OUTPUT_MAX - 1 - n : sizeof(rest))) > 0 ||
		got == -EINTR))
		if (got > 0 && n < OUTPUT_MAX - 1)
			n += (size_t)got;
	output[n] = '\0';
	raw_close(fds[0]);
	while (pid > 0 && raw_wait(pid, &status) == -EINTR)
		;
	return pid > 0 ? status : -1;
}

/* The line of OUTPUT that says why the preload cannot be loaded; NULL where there is none. */
static const char *find_complaint(char output[OUTPUT_MAX])
{
	char *line = output, *end;

	for (; *line; line = end) {
		for (end = line; *end && *end != '\n'; end++)
			;
		if (*end)
			*end++ = '\0';
		if (find(line, PRELOAD) &&
		    (find(line, "cannot be preloaded") || find(line, "not found (required by")))
			return line;
	}
	return NULL;
}

/* The reason why PROGRAM cannot be profiled; "" where it can. */
static const char *check_program(char program[PATH_MAX], char **envp, const char *library,
				 char output[OUTPUT_MAX])
{
	char linker[PATH_MAX];
	const char *why;
	long fd;

	if (find(library, " ") || find(library, ":"))
		return "LD_PRELOAD cannot hold the library's path: it has a space or a colon";
	follow_scripts(program, envp);
	fd = raw_openat(program, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return "it cannot be read";
	why = read_linker((int)fd, linker);
	raw_close((int)fd);
	if (*why && why != is_static)
		return why;
	if (is_privileged(program))
		return "it gains privileges from its file, so LD_PRELOAD is ignored";
	if (*why)
		return why;
	if (raw_access(linker, 1))
		return "its dynamic linker is not here";
	/* musl's linker checks no symbol versions. */
	if (starts_with(base_name(linker), "ld-musl-"))
		return "";
	if (ask_linker(linker, program, library, envp, output))
		return *output ? output : "the dynamic linker cannot be asked";
	why = find_complaint(output);
	return why ? why : "";
}

/* --- the program ---------------------------------------------------------------------------- */

/* Start a tracer that puts the agent into this static program. Returns "" or the reason why it will not be profiled. */
static const char *trace_static(const char *library)
{
	char path[PATH_MAX];
	int err;

	if (!find_attached(library, path))
		return is_static;
	err = tracer_start(path);
	return !err            ? ""
	       : err == -EPERM ? "it is statically linked, and tracing is forbidden here"
			       : "it is statically linked, and it cannot be traced";
}

__attribute__((noreturn)) static void exit_not_executed(const char *program, int err)
{
	print_error(ME ": ", program,
		    err == -ENOENT    ? ": no such program"
		    : err == -ENOEXEC ? ": not a program"
				      : ": cannot be executed",
		    NULL);
	raw_exit(err == -ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_CANNOT_EXECUTE);
}

/* --- --copy-to ------------------------------------------------------------------------------ */

/* async-profiler's library for Java programs, relative to the directory of the preload. */
#define JAVA_PLACE "asprof-agent/java"
#define JAVA       JAVA_PLACE "/libasyncProfiler.so"

/* Returns 0, -ENOENT if FROM does not exist, or another -errno. An earlier copy is replaced, not overwritten: programs
 * may have mapped it. */
static int copy_file(const char *from, const char *to)
{
	long in = raw_openat(from, O_RDONLY | O_CLOEXEC), out, n;

	if (in < 0)
		return (int)in;
	raw_unlink(to);
	out = raw_create(to, 0755);
	if (out < 0)
		return out == -ENOENT ? -ENOTDIR : (int)out;
	while ((n = raw_sendfile((int)out, (int)in, 1 << 20)) > 0)
		;
	raw_close((int)in);
	raw_close((int)out);
	return (int)n;
}

/* Copy SOURCE, as NAME, to DIRECTORY. Ends the process on failure. */
static void copy_to(const char *directory, const char *source, const char *name)
{
	char path[PATH_MAX];
	int err = -ENAMETOOLONG;

	if (join(path, sizeof(path), directory, length(directory), "/", name))
		err = copy_file(source, path);
	if (!err)
		return;
	print_error(ME ": cannot copy ", source, " to ", directory,
		    err == -ENOENT    ? ": it is missing"
		    : err == -ENOTDIR ? ": there is no such directory"
		    : err == -ENOSPC  ? ": no space left"
		    : err == -EROFS   ? ": read-only file system"
		    : err == -EACCES  ? ": permission denied"
				      : ": error",
		    NULL);
	raw_exit(1);
}

static void make_directory(const char *parent, const char *name)
{
	char path[PATH_MAX];

	if (join(path, sizeof(path), parent, length(parent), "/", name))
		raw_mkdir(path);
}

/* Copy this program, the preload LIBRARY and what is installed with it for Java to DIRECTORY. */
__attribute__((noreturn)) static void copy_all(const char *library, const char *directory)
{
	char java[PATH_MAX], attached[PATH_MAX];

	copy_to(directory, "/proc/self/exe", ME);
	copy_to(directory, library, PRELOAD);
	if (find_attached(library, attached))
		copy_to(directory, attached, ATTACHED);
	join(java, sizeof(java), library, (size_t)(base_name(library) - library), JAVA, "");
	if (is_file(java, 4)) {
		make_directory(directory, "asprof-agent");
		make_directory(directory, JAVA_PLACE);
		copy_to(directory, java, JAVA);
	}
	raw_exit(0);
}

/* STACK is as the kernel leaves it: argc, argv with its NULL, the environment with its NULL. argv[0] is removed by moving
 * the rest down, so there is a free entry between argv and the environment. */
__attribute__((used)) void launch(long *stack)
{
	static char program[PATH_MAX], checked[PATH_MAX], library[PATH_MAX], output[OUTPUT_MAX];
	char **argv = (char **)(stack + 1), **envp = argv + *stack + 1, **preloaded;
	const char *why;
	int err;

	if (*stack < 2) {
		print_error("usage: " ME " PROGRAM [ARGUMENT...], or --copy-to DIRECTORY", NULL);
		raw_exit(LAUNCH_USAGE);
	}
	find_library(argv[0], library);
	if (*stack == 3 && starts_with(argv[1], "--copy-to") && !argv[1][9])
		copy_all(library, argv[2]);
	for (long i = 0; i < *stack; i++)
		argv[i] = argv[i + 1];
	err = find_program(argv[0], envp, program);
	if (err)
		exit_not_executed(argv[0], err);
	memcpy(checked, program, sizeof(program));
	why = check_program(checked, envp, library, output);
	preloaded = *why ? envp : set_preload(envp, library);
	if (!preloaded)
		why = "LD_PRELOAD is too long already";
	if (why == is_static &&
	    is_same(checked, program)) /* no script, which may begin by env(1) */
		why = trace_static(library);
	if (*why)
		print_error(ME ": ", program, " will not be profiled: ", why, NULL);
	exit_not_executed(argv[0], (int)raw_execve(program, argv, preloaded ? preloaded : envp));
}

ARCH_START(launch);
