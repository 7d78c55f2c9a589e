/* asprof-agent: table of its commands, dispatch and help. */
#include "core/text/edit_distance.h"
#include "decoder/commands/args.h"
#include "decoder/commands/commands.h"
#include "decoder/commands/complete.h"
#include "decoder/commands/run_command.h"
#include "decoder/output/message.h"
#include "decoder/output/terminal.h"
#include "decoder/symbolize/crash_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "asprof-agent"

static const struct command_option *const no_options[] = { NULL };

static const struct command commands[] = {
	{ .name = "run",
	  .function = cmd_run,
	  .arguments = "[OPTION...] -- COMMAND...",
	  .help = "Run COMMAND with the profiler.",
	  .example = PROGRAM " run -o profiles --cpu 10ms -- ./service --port 8080",
	  .options = run_options },
	{ .name = "options",
	  .function = cmd_options,
	  .arguments = "[--json]",
	  .help = "List the environment variables: defaults, values here, meanings.",
	  .example = PROGRAM " options | less",
	  .options = options_options },
	{ .name = "doctor",
	  .function = cmd_doctor,
	  .arguments = "[--json] [--send] [--try] [-- COMMAND | PID]",
	  .help = "Find what prevents profiles (then the status is 1), and how to correct it.",
	  .example = PROGRAM " doctor -- ./service",
	  .options = doctor_options },
	{ .name = "ps",
	  .function = cmd_ps,
	  .arguments = "[--json]",
	  .help = "List the profiled processes of this machine.",
	  .example = PROGRAM " ps",
	  .options = ps_options },
	{ .name = "attach",
	  .function = cmd_attach,
	  .arguments = "PID [--for TIME] [OPTION...] [KEY=VALUE...]",
	  .help = "Profile a process that runs without the profiler.",
	  .example = PROGRAM " attach 1234 --for 30s",
	  .options = attach_options },
	{ .name = "detach",
	  .function = cmd_detach,
	  .arguments = "PID",
	  .help = "Remove the profiler that `attach` has put into a process.",
	  .example = PROGRAM " detach 1234",
	  .options = no_options },
	{ .name = "status",
	  .function = cmd_status,
	  .arguments = "PID [--json]",
	  .help = "Show the profiler's state in a running process.",
	  .example = PROGRAM " status 1234",
	  .options = status_options },
	{ .name = "start",
	  .function = cmd_control,
	  .arguments = "PID",
	  .help = "Resume profiling of a running process.",
	  .example = PROGRAM " start 1234",
	  .options = no_options },
	{ .name = "stop",
	  .function = cmd_control,
	  .arguments = "PID",
	  .help = "Pause profiling of a running process.",
	  .example = PROGRAM " stop 1234",
	  .options = no_options },
	{ .name = "flush",
	  .function = cmd_control,
	  .arguments = "PID",
	  .help = "Make a running process report now.",
	  .example = PROGRAM " flush 1234",
	  .options = no_options },
	{ .name = "set",
	  .function = cmd_set,
	  .arguments = "PID KEY=VALUE...",
	  .help = "Change settings of a running process.",
	  .example = PROGRAM " set 1234 CPU_INTERVAL=5ms NATIVE_MEM=512k",
	  .options = set_options },
	{ .name = "heap",
	  .function = cmd_heap,
	  .arguments = "PID [top|collapsed|flamegraph|pprof [OPTION...]]",
	  .help = "Show the native memory that a running process holds now.",
	  .example = PROGRAM " heap 1234 flamegraph -o heap.html",
	  .options = no_options },
	{ .name = "profile",
	  .function = cmd_profile,
	  .arguments = "PID [OPTION...] [top|collapsed|flamegraph|pprof|waits [OPTION...]]",
	  .help = "Profile a running process for some seconds.",
	  .example = PROGRAM " profile 1234 -t 30s --wall -o wall.html",
	  .options = profile_options },
	{ .name = "threads",
	  .function = cmd_threads,
	  .arguments = "PID [top|collapsed|flamegraph|pprof|waits [OPTION...]]",
	  .help = "Show stack and wait of each thread of a running process.",
	  .example = PROGRAM " threads 1234",
	  .options = no_options },
	{ .name = "pull",
	  .function = cmd_pull,
	  .arguments = "s3://BUCKET/PREFIX... [-o DIR]",
	  .help = "Download uploaded reports that are not in DIR yet.",
	  .example = PROGRAM " pull --group checkout --from -1h s3://profiles -o profiles",
	  .options = pull_options },
	{ .name = "summary",
	  .function = cmd_summary,
	  .arguments = "FILE...",
	  .help = "Show time span, engine, losses, events by type, threads.",
	  .example = PROGRAM " summary service_1234_2026-11-21T02-10-00Z.jfr",
	  .options = summary_options },
	{ .name = "cost",
	  .function = cmd_cost,
	  .arguments = "PID|FILE...",
	  .help = "Show what profiling costs, and estimate it with other intervals.",
	  .example = PROGRAM " cost 1234 --cpu 1ms --mem 64k",
	  .options = cost_options },
	{ .name = "top",
	  .function = cmd_top,
	  .arguments = "FILE... [--base FILE...]",
	  .help = "Show the heaviest functions, with 95% confidence intervals.",
	  .example = PROGRAM " top --cpu --thread worker /var/lib/asprof-agent",
	  .options = top_options },
	{ .name = "collapsed",
	  .function = cmd_collapsed,
	  .arguments = "FILE... [-o OUT]",
	  .help = "Write folded stacks, one per line, for other tools.",
	  .example = PROGRAM " collapsed --wall --threads service.jfr -o service.folded",
	  .options = collapsed_options },
	{ .name = "waits",
	  .function = cmd_waits,
	  .arguments = "FILE... [--by cause|peer|file|lock|holder|thread]",
	  .help = "Show what threads waited for, and the owners of locks.",
	  .example = PROGRAM " waits --by lock /var/lib/asprof-agent",
	  .options = waits_options },
	{ .name = "longpolls",
	  .function = cmd_longpolls,
	  .arguments = "FILE [MIN]",
	  .help = "Show long polls and stalls of event loops, with their stacks.",
	  .example = PROGRAM " longpolls service.jfr 500us --stack-depth 10",
	  .options = longpolls_options },
	{ .name = "nativemem",
	  .function = cmd_nativemem,
	  .arguments = "FILE [--type malloc|free]",
	  .help = "Show native allocations or frees, one by one.",
	  .example = PROGRAM " nativemem service.jfr --type malloc --stack-depth 10",
	  .options = nativemem_options },
	{ .name = "duration",
	  .function = cmd_duration,
	  .arguments = "FILE",
	  .help = "Print how many seconds were recorded.",
	  .example = PROGRAM " duration service.jfr",
	  .options = duration_options,
	  .shared_only = true },
	{ .name = "pprof",
	  .function = cmd_pprof,
	  .arguments = "FILE... [-o OUT]",
	  .help = "Write a gzipped profile.proto, for go tool pprof.",
	  .example = PROGRAM " pprof --symbols /usr/lib/debug service.jfr -o service.pb.gz",
	  .options = pprof_options },
	{ .name = "timeline",
	  .function = cmd_timeline,
	  .arguments = "FILE... [-o OUT]",
	  .help = "Write a page with a lane for each thread, its states and marks over time.",
	  .example = PROGRAM " timeline --at 02:13:20 --for 10s profiles -o time.html",
	  .options = timeline_options },
	{ .name = "export",
	  .function = cmd_export,
	  .arguments = "FILE... --format FORMAT [-o OUT]",
	  .help = "Write a profile of another profiler's format, with times and marks.",
	  .example = PROGRAM " export --format firefox service.jfr -o service.json",
	  .options = export_options },
	{ .name = "leaks",
	  .function = cmd_leaks,
	  .arguments = "FILE...",
	  .help = "Show the memory that each process had not freed at the end.",
	  .example = PROGRAM " leaks --min-age 30s /var/lib/asprof-agent",
	  .options = leaks_options },
	{ .name = "lifetimes",
	  .function = cmd_lifetimes,
	  .arguments = "FILE...",
	  .help = "Show how long allocations lived, by stack.",
	  .example = PROGRAM " lifetimes -n 5 service.jfr",
	  .options = lifetimes_options },
	{ .name = "recover",
	  .function = cmd_recover,
	  .arguments = "DIR... [-o OUT] [--dry-run]",
	  .help = "Make profiles from killed processes' files in a spool.",
	  .example = PROGRAM " recover /var/spool/service -o profiles",
	  .options = recover_options },
	{ .name = "flamegraph",
	  .function = cmd_flamegraph,
	  .arguments = "FILE... [-o OUT] [--base FILE...]",
	  .help = "Write a flame graph, as one self-contained HTML page.",
	  .example = PROGRAM " flamegraph --cpu new.jfr --base old.jfr -o diff.html",
	  .options = flamegraph_options },
	{ .name = "heatmap",
	  .function = cmd_heatmap,
	  .arguments = "FILE... [-o OUT]",
	  .help = "Write a heatmap of samples over time, as one self-contained HTML page.",
	  .example = PROGRAM " heatmap --wall --from -10m profiles -o heat.html",
	  .options = heatmap_options },
};

/* Number of changed, added, removed or exchanged letters in a mistyped command. */
#define SUGGESTION_EDITS 2

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

/* Return the command whose name is closest to NAME, at most SUGGESTION_EDITS changes away, or NULL. */
static const struct command *find_similar_command(const char *name)
{
	const struct command *best = NULL;
	size_t least = SUGGESTION_EDITS + 1;

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		size_t edits = edit_distance(name, commands[i].name);

		if (edits < least && edits < strlen(commands[i].name)) {
			best = &commands[i];
			least = edits;
		}
	}
	return best;
}

static void print_commands(FILE *out)
{
	fputs("Usage: " PROGRAM " COMMAND [ARGUMENTS]\n\n", out);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].help);
	fputs("\n" PROGRAM " COMMAND --help describes one command.\n", out);
}

#define HELP_COLUMN 26

static void print_options(const struct command_option *option)
{
	int width;

	for (; option->name; option++) {
		width = printf("  %s%s%s", option->name, option->argument ? " " : "",
			       option->argument ? option->argument : "");
		if (width > HELP_COLUMN - 2) {
			putchar('\n');
			width = 0;
		}
		printf("%*s%s\n", HELP_COLUMN - width, "", option->help);
	}
}

static int print_help(const struct command *command)
{
	printf("Usage: " PROGRAM " %s%s%s\n\n%s\n", command->name, *command->arguments ? " " : "",
	       command->arguments, command->help);
	if (!strncmp(command->arguments, "FILE", 4))
		puts("\nFILE is a .jfr, .jfr.gz or .zip, a directory of them, s3://BUCKET/PREFIX, "
		     "or\n- for "
		     "standard input.");
	/* scripts/docs recognizes the second heading: it describes shared switches once. */
	for (const struct command_option *const *table = command->options; *table; table++) {
		if (!(*table)->name)
			continue;
		if (table == command->options && !command->shared_only)
			puts("");
		else if (table == command->options + !command->shared_only)
			puts("\nShared with other commands:");
		print_options(*table);
	}
	printf("\nExample:\n  %s\n", command->example);
	return COMMAND_OK;
}

static bool is_number(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

/* Move the process ID before the switches, where commands expect it. It is the last number that is no switch's value. After
 * the name of a command, like "top", that command's switches follow. */
static void move_pid_first(const struct command *command, int argc, char **argv)
{
	const struct command *reader, *owner = command;
	const struct command_option *option;
	int at = 0;
	char *pid;

	if (strncmp(command->arguments, "PID", 3) != 0 || argc < 2 || is_number(argv[1]))
		return;
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-') {
			option = command_find_switch(owner, argv[i]);
			i += option && option->argument; /* its value follows */
			continue;
		}
		reader = command_find(commands, COMMAND_COUNT, argv[i]);
		if (reader)
			owner = reader;
		if (is_number(argv[i]))
			at = i;
	}
	if (!at)
		return;
	pid = argv[at];
	memmove(&argv[2], &argv[1], (size_t)(at - 1) * sizeof(*argv));
	argv[1] = pid;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	int status;

	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		return print_help(command);
	move_pid_first(command, argc, argv);
	status = command->function(argc, argv);
	if (status == COMMAND_HELP)
		return print_help(command);
	if (status == COMMAND_USAGE)
		message_print("%s --help shows the usage", command->name);
	return status;
}

static int main_dispatch(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct command *command;

	if (!strcmp(name, "--version")) {
		puts(PROGRAM " " ASPROF_AGENT_VERSION);
		return COMMAND_OK;
	}
	if (!strcmp(name, "--words")) {
		complete_print(commands, COMMAND_COUNT, argv + 2, argc - 2);
		return COMMAND_OK;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		command = argc > 2 ? command_find(commands, COMMAND_COUNT, argv[2]) : NULL;
		if (command)
			return print_help(command);
		print_commands(stdout);
		return COMMAND_OK;
	}
	command = command_find(commands, COMMAND_COUNT, name);
	if (command)
		return run_command(command, argc - 1, argv + 1);
	command = find_similar_command(name);
	if (*name && command) {
		message_print("no command '%s'; did you mean `%s`?", name, command->name);
		return COMMAND_USAGE;
	}
	if (*name)
		message_print("no command '%s'", name);
	print_commands(stderr);
	return COMMAND_USAGE;
}

/* Flush standard output, to report a full disk. */
static int flush_output(int status)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (errno != EPIPE) /* EPIPE: the reader has closed the pipe on purpose */
		message_print("standard output: %s",
			      errno ? strerror(errno) : "not all of it could be written");
	return COMMAND_FAILED;
}

/* Open what is closed of the descriptors 0 to 2. Otherwise the next opened file would get messages, or output. Reads and
 * writes of these fail, and the programs that this one executes have them closed. */
static void occupy_standard_descriptors(void)
{
	int fd;

	do
		fd = open("/dev/null", O_PATH | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	close(fd);
}

int main(int argc, char **argv)
{
	int status;

	occupy_standard_descriptors();
	run_command_reset_sigchld();
	/* Otherwise glibc retains outgrown tables of any size for reuse. */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	crash_guard_enable();
	status = flush_output(main_dispatch(argc, argv));
	terminal_end_pager();
	return status;
}
