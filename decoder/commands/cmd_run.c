/* run: runs a command with the preload. Forwards signals, exits like the command, and reports where the profiles
 * are. */
#include "decoder/commands/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "core/asprof.h"
#include "core/options/config.h"
#include "core/options/option_view.h"
#include "decoder/doctor/preloadable.h"
#include "decoder/commands/run_command.h"
#include "decoder/commands/run_spool.h"
#include "decoder/output/message.h"

#define PRELOAD              "libasprof_preload.so"
#define ATTACHED             "libasprof_attach.so"
#define DEFAULT_CPU_INTERVAL "10ms"

/* Exit statuses of env(1). */
enum { RUN_FAILED = 125, RUN_CANNOT_EXECUTE = 126, RUN_NOT_FOUND = 127 };

/* Each switch sets a variable of the agent. */
static const struct {
	const char *name, *variable;
} run_switches[] = {
	{ "-o", OPTION_PREFIX "LOCAL_DIR" },         { "--cpu", OPTION_PREFIX "CPU_INTERVAL" },
	{ "--wall", OPTION_PREFIX "WALL_INTERVAL" }, { "--mem", OPTION_PREFIX "NATIVE_MEM" },
	{ "--lock", OPTION_PREFIX "LOCK" },          { "--engine", OPTION_PREFIX "ENGINE" },
};

static const struct command_option own_options[] = {
	{ .name = "-o", .argument = "DIR", .help = "directory for profiles; made if missing" },
	{ .name = "--cpu",
	  .argument = "10ms",
	  .help = "CPU time between samples, or off (" DEFAULT_CPU_INTERVAL ")" },
	{ .name = "--wall",
	  .argument = "100ms",
	  .help = "wall-clock time between samples, or off (1s)" },
	{ .name = "--mem",
	  .argument = "512k",
	  .help = "bytes allocated between samples, or off (off)" },
	{ .name = "--lock",
	  .argument = "10ms",
	  .help = "waiting time between samples of contended locks (off)" },
	{ .name = "--engine",
	  .argument = "auto|async-profiler|builtin",
	  .help = "the engine (auto)" },
	{ .name = NULL },
};

const struct command_option *const run_options[] = {
	own_options,
	NULL,
};

/* Set an absolute path, as the program may change its working directory before the agent opens it. A directory that the
 * agent could not write to is refused, because the agent would choose another one. */
static int set_local_directory(const char *dir)
{
	char path[PATH_MAX];

	if (mkdir(dir, 0755) && errno != EEXIST)
		goto failed;
	if (!realpath(dir, path) || faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) ||
	    setenv(OPTION_PREFIX "LOCAL_DIR", path, 1))
		goto failed;
	return 0;
failed:
	message_print("run: cannot write profiles to %s: %s", dir,
		      errno == ENOENT ? "the directory above it does not exist" : strerror(errno));
	return RUN_FAILED;
}

static int apply_switch(const char *name, const char *variable, const char *value)
{
	char problem[OPTION_PROBLEM_MAX];

	if (!*value) {
		message_print("run: %s needs a value", name);
		return COMMAND_USAGE;
	}
	if (option_check(variable, value, problem)) {
		message_print("run: %s: %s", name, problem);
		return COMMAND_USAGE;
	}
	if (!strcmp(name, "-o"))
		return set_local_directory(value);
	return setenv(variable, value, 1) ? RUN_FAILED : 0;
}

/* Parse `NAME VALUE` or `NAME=VALUE` at *ARGV, and move *ARGV to the last word used. */
static int parse_switch(char ***argv)
{
	const char *word = **argv, *value;
	size_t length;

	for (size_t i = 0; i < sizeof(run_switches) / sizeof(*run_switches); i++) {
		length = strlen(run_switches[i].name);
		if (strncmp(word, run_switches[i].name, length) ||
		    (word[length] && word[length] != '='))
			continue;
		if (word[length])
			value = word + length + 1;
		else
			value = (*argv)[1] ? *++*argv : "";
		return apply_switch(run_switches[i].name, run_switches[i].variable, value);
	}
	message_print("run: no switch '%s'", word);
	return COMMAND_USAGE;
}

/* Find the library NAME next to this command, as in the build tree, or in ../lib, as installed. Returns false if it is in
 * none of them. */
static bool find_library(const char *name, char path[PATH_MAX])
{
	static const char *const directories[] = { "", "../lib/", "../lib64/",
						   "../lib/" ARCH_NAME "-linux-gnu/" };
	char self[PATH_MAX], candidate[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	if (strrchr(self, '/'))
		strrchr(self, '/')[1] = '\0';
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
		snprintf(candidate, sizeof(candidate), "%s%s%s", self, directories[i], name);
		if (realpath(candidate, path))
			return true;
	}
	return false;
}

/* Otherwise return its soname, which the dynamic linker searches for. */
int run_find_preload(char path[PATH_MAX])
{
	if (!find_library(PRELOAD, path))
		strcpy(path, PRELOAD);
	if (strpbrk(path, " :")) {
		message_print("run: LD_PRELOAD cannot hold '%s': its path has a space or a colon",
			      path);
		return RUN_FAILED;
	}
	return 0;
}

bool run_find_attached(char path[PATH_MAX])
{
	return find_library("asprof-agent/" ATTACHED, path) || find_library(ATTACHED, path);
}

bool run_find_async_profiler(char path[PATH_MAX])
{
	const char *wanted = getenv(OPTION_PREFIX "LIB");

	return wanted && *wanted == '/' ? realpath(wanted, path) != NULL
					: find_library(ASYNC_PROFILER_JAVA_FILE, path);
}

/* Return PATH with the file that is put into PROGRAM, or NULL if PROGRAM is not static. (A script may begin by env(1).) */
static const char *find_payload(const char *program, char path[PATH_MAX])
{
	char command[PATH_MAX];
	struct preloadable file;

	if (preloadable_find_program(program, command))
		return NULL;
	preloadable_check(&file, command);
	if (file.obstacle != PRELOADABLE_STATIC || strcmp(file.file, command))
		return NULL;
	return run_find_attached(path) ? path : NULL;
}

int run_set_preload(void)
{
	const char *present = getenv("LD_PRELOAD");
	char path[PATH_MAX], *joined;
	int err;

	err = run_find_preload(path);
	if (err)
		return err;
	if (present && strstr(present, PRELOAD))
		return 0;
	if (asprintf(&joined, "%s%s%s", path, present && *present ? ":" : "",
		     present ? present : "") < 0)
		return RUN_FAILED;
	err = setenv("LD_PRELOAD", joined, 1) ? RUN_FAILED : 0;
	free(joined);
	return err;
}

int cmd_run(int argc, char **argv)
{
	char payload[PATH_MAX];
	struct run_command command;
	struct run_spool spool;
	int err;

	(void)argc;
	for (argv++; *argv && **argv == '-' && strcmp(*argv, "--"); argv++) {
		if (!strcmp(*argv, "--help") || !strcmp(*argv, "-h"))
			return COMMAND_HELP;
		err = parse_switch(&argv);
		if (err)
			return err;
	}
	if (*argv && !strcmp(*argv, "--"))
		argv++;
	if (!*argv) {
		message_print("run: no command given");
		return COMMAND_USAGE;
	}
	err = run_set_preload();
	/* The agent's default is for programs that run for hours. */
	if (!err && setenv(OPTION_PREFIX "CPU_INTERVAL", DEFAULT_CPU_INTERVAL, 0))
		err = RUN_FAILED;
	if (err)
		return err;
	run_spool_open(&spool);
	err = -run_command_wait(&command, argv, find_payload(*argv, payload));
	run_spool_close(&spool);
	if (err) {
		message_print("run: %s: %s", *argv, strerror(err));
		return err == ENOENT ? RUN_NOT_FOUND : RUN_CANNOT_EXECUTE;
	}
	run_report_profiles(&command, &spool);
	return run_command_repeat_exit(&command);
}
