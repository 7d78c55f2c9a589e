/* asprof-agent-launch PROGRAM [ARGUMENT...]: the ENTRYPOINT of a container image that has no shell.
 *
 * Becomes the program, with libasprof_preload.so in LD_PRELOAD where the program can be profiled; else
 * without it, after one line on standard error that says why. It is static and has no C library, so
 * that it runs in any image. What it asks of a program is what asprof-agent-entrypoint asks, and, with
 * more words, decoder/commands/preloadable.c. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "launcher/raw.h"

#define ME      "asprof-agent-launch"
#define PRELOAD "libasprof_preload.so"

#if defined(__x86_64__)
#define ARCH_ELF_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define ARCH_ELF_MACHINE EM_AARCH64
#else
#error "which number do ELF files of this processor have?"
#endif

/* As of a shell. */
enum { LAUNCH_USAGE = 2, LAUNCH_CANNOT_EXECUTE = 126, LAUNCH_NOT_FOUND = 127 };

#define SCRIPTS_MAX 4
#define SAID_MAX    4096

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

static const char *find(const char *text, const char *what)
{
	for (; *text; text++)
		if (starts_with(text, what))
			return text;
	return NULL;
}

/* What follows the last '/', or all. */
static const char *base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (*path == '/')
			base = path + 1;
	return base;
}

/* Put the texts together; what does not fit is false, and a "" in TO. */
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

/* A line of the texts up to a NULL, on standard error at once: others may be writing there. */
__attribute__((sentinel)) static void say(const char *text, ...)
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

static const char *get(char *const *envp, const char *name)
{
	for (; *envp; envp++)
		if (starts_with(*envp, name) && (*envp)[length(name)] == '=')
			return *envp + length(name) + 1;
	return NULL;
}

/* --- where things are ----------------------------------------------------------------------- */

static bool is_file(const char *path, int mode)
{
	/* A directory may be "executed" as well, but has a "." in it. */
	char inside[PATH_MAX + 2];

	return !raw_access(path, mode) &&
	       (!join(inside, sizeof(inside), path, length(path), "/.", "") ||
		raw_access(inside, 0 /* F_OK */) != 0);
}

/* As execvp(3): NAME, or the first in PATH. Returns 0 or -errno. */
static int find_program(const char *name, char *const *envp, char path[PATH_MAX])
{
	const char *p = get(envp, "PATH");
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

/* The library beside this program, or in the lib directory beside its bin; else its name, for which
 * the dynamic linker looks. ARGV0 is for where there is no /proc. */
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
		/* From here on, of the directory above. */
		while (!i && directory > 1 && self[--directory - 1] != '/')
			;
	}
	join(path, PATH_MAX, PRELOAD, length(PRELOAD), "", "");
}

/* --- may it be preloaded -------------------------------------------------------------------- */

/* The word after those of the first line of a script that are env(1) and its switches. */
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

/* Have PATH be what is executed for it, where it is a script. */
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

/* Read the linker's name from the open program. Returns "" or why the program cannot be profiled. */
static const char *read_linker(int fd, char linker[PATH_MAX])
{
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
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_filesz < 2 || segment.p_filesz > PATH_MAX ||
		    raw_pread(fd, linker, segment.p_filesz, (long)segment.p_offset) !=
			    (long)segment.p_filesz ||
		    linker[segment.p_filesz - 1])
			return "it is damaged";
		return "";
	}
	return "it is statically linked, so no library can be preloaded";
}

/* The mode and owner, by the one call whose struct is the same on every processor. */
static bool is_privileged(const char *path)
{
	struct statx stx;

	if (raw_call(SYS_statx, AT_FDCWD, (long)path, 0, STATX_BASIC_STATS, (long)&stx) < 0)
		return false;
	return (stx.stx_mode & S_ISUID &&
		stx.stx_uid != (uint32_t)raw_call(SYS_getuid, 0, 0, 0, 0, 0)) ||
	       ((stx.stx_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		stx.stx_gid != (uint32_t)raw_call(SYS_getgid, 0, 0, 0, 0, 0));
}

/* Whether the library is among what is preloaded already. */
static bool is_preloaded(const char *present)
{
	const char *at = find(present, PRELOAD);

	return at && (at == present || at[-1] == '/' || at[-1] == ':' || at[-1] == ' ');
}

/* Put LIBRARY in front of what is preloaded already. ENVP has room for an entry in front of it.
 * Returns where the environment begins now; NULL where there are too many preloads. */
static char **set_preload(char **envp, const char *library)
{
	static char entry[PATH_MAX + 65536];
	const char *present = get(envp, "LD_PRELOAD");
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

/* Have the dynamic linker list what it would load, without running the program: it tells whether it
 * finds the C library, and all that the preload needs of it. SAID gets what it prints.
 * Returns its status, or -1. */
static int ask_linker(const char *linker, const char *program, const char *library, char **envp,
		      char said[SAID_MAX])
{
	char *argv[] = { (char *)linker, (char *)program, NULL };
	int fds[2], status = -1;
	size_t n = 0;
	char rest[256];
	long pid, got;

	*said = '\0';
	if (raw_pipe(fds) < 0)
		return -1;
	pid = raw_fork();
	if (pid == 0) {
		raw_dup3(fds[1], 1);
		raw_dup3(fds[1], 2);
		if (fds[1] > 2)
			raw_close(fds[1]);
		raw_close(fds[0]);
		/* (Here the argv below the environment is a copy, and not needed.) */
		envp = set_preload(envp, library);
		if (envp) {
			*--envp = (char *)"LD_TRACE_LOADED_OBJECTS=1";
			raw_execve(linker, argv, envp);
		}
		raw_exit(LAUNCH_CANNOT_EXECUTE);
	}
	raw_close(fds[1]);
	while (pid > 0 &&
	       ((got = raw_read(fds[0], n < SAID_MAX - 1 ? said + n : rest,
				n < SAID_MAX - 1 ? SAID_MAX - 1 - n : sizeof(rest))) > 0 ||
		got == -EINTR))
		if (got > 0 && n < SAID_MAX - 1)
			n += (size_t)got;
	said[n] = '\0';
	raw_close(fds[0]);
	while (pid > 0 && raw_wait(pid, &status) == -EINTR)
		;
	return pid > 0 ? status : -1;
}

/* The line of SAID that tells of the preload what keeps it out; NULL where there is none. */
static const char *find_complaint(char said[SAID_MAX])
{
	char *line = said, *end;

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

/* Why PROGRAM cannot be profiled, "" where it can. */
static const char *check_program(char program[PATH_MAX], char **envp, const char *library,
				 char said[SAID_MAX])
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
	if (*why)
		return why;
	if (raw_access(linker, 1))
		return "its dynamic linker is not here";
	if (is_privileged(program))
		return "it gains privileges from its file, so LD_PRELOAD is ignored";
	/* musl's knows no versions, and so has nothing to complain of. */
	if (starts_with(base_name(linker), "ld-musl-"))
		return "";
	if (ask_linker(linker, program, library, envp, said))
		return *said ? said : "the dynamic linker cannot be asked";
	why = find_complaint(said);
	return why ? why : "";
}

/* --- the program ---------------------------------------------------------------------------- */

__attribute__((noreturn)) static void fail(const char *program, int err)
{
	say(ME ": ", program,
	    err == -ENOENT    ? ": no such program"
	    : err == -ENOEXEC ? ": not a program"
			      : ": cannot be executed",
	    NULL);
	raw_exit(err == -ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_CANNOT_EXECUTE);
}

/* STACK is what the kernel leaves there: argc, argv and its NULL, the environment and its NULL. The
 * program's argv is moved down over this one's first, so a place is free between the two. */
__attribute__((used)) void launch(long *stack)
{
	static char program[PATH_MAX], looked[PATH_MAX], library[PATH_MAX], said[SAID_MAX];
	char **argv = (char **)(stack + 1), **envp = argv + *stack + 1, **preloaded;
	const char *why;
	int err;

	if (*stack < 2) {
		say("usage: " ME " PROGRAM [ARGUMENT...]", NULL);
		raw_exit(LAUNCH_USAGE);
	}
	find_library(argv[0], library);
	for (long i = 0; i < *stack; i++)
		argv[i] = argv[i + 1];
	err = find_program(argv[0], envp, program);
	if (err)
		fail(argv[0], err);
	memcpy(looked, program, sizeof(program));
	why = check_program(looked, envp, library, said);
	preloaded = *why ? envp : set_preload(envp, library);
	if (!preloaded)
		why = "LD_PRELOAD is too long already";
	if (*why)
		say(ME ": ", program, " will not be profiled: ", why, NULL);
	fail(argv[0], (int)raw_execve(program, argv, preloaded ? preloaded : envp));
}

RAW_START(launch);
