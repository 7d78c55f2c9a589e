/* asprof-agent doctor: what would keep profiles from coming, and how to mend it. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/buf.h"
#include "decoder/commands/commands.h"
#include "decoder/commands/doctor.h"
#include "profile/basics/text.h"

#define ENVIRONMENT_MAX (4u << 20)

const struct command_option *const doctor_options[] = { NULL };

/* What a check needs so that it has something to look at; and whether it is left out for a program that has
 * been run. */
enum { NEEDS_NOTHING = 0, NEEDS_SETTINGS = 1, NEEDS_PROGRAM = 2, NOT_OF_RUN = 4 };

static const struct {
	const char *name;
	doctor_check *function;
	unsigned int needs;
} checks[] = {
	{ "settings", doctor_settings, NEEDS_NOTHING },
	{ "unknown", doctor_unknown, NOT_OF_RUN },
	{ "program", doctor_preloadable, NEEDS_NOTHING },
	{ "left-out", doctor_left_out, NEEDS_SETTINGS | NEEDS_PROGRAM },
	{ "library", doctor_library, NEEDS_PROGRAM },
	{ "preloaded", doctor_preloaded, NEEDS_PROGRAM },
	{ "engine", doctor_engine, NEEDS_SETTINGS | NEEDS_PROGRAM },
	{ "java", doctor_java, NEEDS_SETTINGS | NEEDS_PROGRAM },
	{ "go", doctor_go, NEEDS_PROGRAM },
	{ "malloc", doctor_malloc, NEEDS_SETTINGS | NEEDS_PROGRAM },
	{ "unwind", doctor_unwind, NEEDS_PROGRAM },
	{ "symbols", doctor_symbols, NEEDS_PROGRAM },
	{ "perf", doctor_perf, NEEDS_SETTINGS },
	{ "seccomp", doctor_seccomp, NEEDS_SETTINGS | NOT_OF_RUN },
	{ "directory", doctor_directory, NEEDS_SETTINGS },
	{ "spool", doctor_spool, NEEDS_SETTINGS },
	{ "bucket", doctor_bucket, NEEDS_SETTINGS | NOT_OF_RUN },
};

void doctor_add_finding(struct patient *patient, enum severity severity, const char *name,
			const char *mend, const char *format, ...)
{
	char line[4096];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	text_clean_string(line);
	patient->tell(patient, severity, name ? name : patient->check, line, mend);
	patient->found[severity]++;
}

static void print_finding(struct patient *patient, enum severity severity, const char *name,
			  const char *line, const char *mend)
{
	static const char *const words[SEVERITIES] = { "stop", "note" };

	(void)patient;
	printf("%s  %s: %s\n      %s\n", words[severity], name, line, mend);
}

const char *doctor_get_variable(const struct patient *patient, const char *name)
{
	size_t length = strlen(name);

	for (char **p = patient->environment; p && *p; p++)
		if (!strncmp(*p, name, length) && (*p)[length] == '=')
			return *p + length + 1;
	return NULL;
}

/* The entries of /proc/PID/environ, an array in front of its text. */
static char **split_environment(const struct buf *text)
{
	size_t count = 1, length = text->length;
	char **entries, *copy;

	for (size_t i = 0; i < length; i++)
		count += !text->data[i];
	entries = malloc((count + 1) * sizeof(*entries) + length + 1);
	if (!entries)
		return NULL;
	copy = (char *)(entries + count + 1);
	memcpy(copy, text->data, length);
	copy[length] = '\0';
	count = 0;
	for (size_t i = 0; i < length; i += strlen(copy + i) + 1)
		entries[count++] = copy + i;
	entries[count] = NULL;
	return entries;
}

static char **read_environment(pid_t pid)
{
	struct buf text = BUF_INIT(ENVIRONMENT_MAX);
	char path[64], block[4096], **entries = NULL;
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	file = fopen(path, "re");
	if (!file)
		return NULL;
	while ((n = fread(block, 1, sizeof(block), file)) > 0 && !buf_append(&text, block, n))
		;
	if (!ferror(file) && text.length)
		entries = split_environment(&text);
	else if (!ferror(file))
		entries = calloc(1, sizeof(*entries));
	fclose(file);
	buf_free(&text);
	return entries;
}

/* The program of a process, and whether the preload is in it. Returns 0 or -errno. */
static int look_at_process(struct patient *p)
{
	char path[64], line[PATH_MAX + 128];
	FILE *maps;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", p->pid);
	n = readlink(path, p->program, sizeof(p->program) - 1);
	if (n < 0)
		return -errno;
	p->program[n] = '\0';
	snprintf(p->root, sizeof(p->root), "/proc/%d/root", p->pid);
	snprintf(path, sizeof(path), "/proc/%d/maps", p->pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps))
		p->has_preload = p->has_preload || strstr(line, "libasprof_preload.so");
	if (maps)
		fclose(maps);
	snprintf(path, sizeof(path), "/proc/%d/exe", p->pid);
	preloadable_check(&p->file, p->root, path);
	p->environment = read_environment(p->pid);
	return p->environment ? 0 : -EACCES;
}

static bool is_number(const char *word)
{
	const char *p = word;

	while (isdigit((unsigned char)*p))
		p++;
	return p > word && !*p && strlen(word) < 10;
}

void doctor_select_program(struct patient *p, const char *command)
{
	p->asked = command;
	p->environment = environ;
	if (!command)
		return;
	if (preloadable_find_program(command, p->program))
		snprintf(p->program, sizeof(p->program), "%s", command);
	preloadable_check(&p->file, "", p->program);
}

/* A number names a process, unless it stands behind "--". Returns 0, or -errno after saying why. */
static int look_at(struct patient *p, const char *word, bool command)
{
	int err;

	if (!word || command || !is_number(word)) {
		doctor_select_program(p, word);
		return 0;
	}
	p->asked = word;
	p->pid = atoi(word);
	err = look_at_process(p);
	if (err)
		fprintf(stderr, "asprof-agent: doctor: cannot look at process %s: %s\n", word,
			err == -ENOENT ? "there is none" : strerror(-err));
	return err;
}

static bool check_applies(const struct patient *p, unsigned int needs, enum doctor_extent extent)
{
	if (needs & NEEDS_SETTINGS && !p->configured)
		return false;
	if (needs & NOT_OF_RUN && extent == DOCTOR_AFTER_RUN)
		return false;
	return !(needs & NEEDS_PROGRAM) || (p->asked && p->file.obstacle == PRELOADABLE);
}

int doctor_run_checks(struct patient *p, enum doctor_extent extent, doctor_report *tell)
{
	int err = config_read(&p->config, p->environment, p->problem);

	p->configured = !err && p->config.enabled;
	p->tell = tell;
	err = run_find_preload(p->library);
	for (size_t i = 0; !err && i < sizeof(checks) / sizeof(*checks); i++) {
		p->check = checks[i].name;
		if (check_applies(p, checks[i].needs, extent))
			checks[i].function(p);
	}
	return err ? COMMAND_FAILED : 0;
}

static int examine(struct patient *p)
{
	int err = doctor_run_checks(p, DOCTOR_ALL, print_finding);

	if (!err && p->found[SEVERITY_STOP])
		puts("no profiles would come, for what says `stop`");
	else if (!err)
		puts("nothing that was looked at keeps profiles from coming");
	config_free(&p->config);
	return !err && p->found[SEVERITY_STOP] ? COMMAND_FAILED : err;
}

int cmd_doctor(int argc, char **argv)
{
	struct patient patient = { 0 };
	bool command = false;
	int status;

	(void)argc;
	argv++;
	if (*argv && !strcmp(*argv, "--")) {
		command = true;
		argv++;
	} else if (*argv && **argv == '-') {
		fprintf(stderr, "asprof-agent: doctor: no switch '%s'\n", *argv);
		return COMMAND_USAGE;
	}
	if (command && !*argv) {
		fputs("asprof-agent: doctor: no command given\n", stderr);
		return COMMAND_USAGE;
	}
	if (look_at(&patient, *argv, command))
		return COMMAND_FAILED;
	status = examine(&patient);
	if (patient.environment != environ)
		free(patient.environment);
	return status;
}
