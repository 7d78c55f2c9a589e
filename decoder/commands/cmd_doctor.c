/* doctor: finds what prevents profiles, and how to correct it. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/commands/commands.h"
#include "decoder/doctor/doctor.h"
#include "decoder/output/message.h"
#include "decoder/output/terminal.h"
#include "profile/basics/text.h"

static const struct command_option doctor_switches[] = {
	{ "--json", NULL, "print JSON", 0, 0 },
	{ "--send", NULL, "send a small report to each destination", 0, 0 },
	{ "--try", NULL, "run COMMAND for two seconds, check its profile", 0, 0 },
	{ 0 },
};

const struct command_option *const doctor_options[] = { doctor_switches, NULL };

/* Conditions of a check. NOT_OF_RUN: `run` skips it after the program has run. */
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
	{ "exit", doctor_exit, NEEDS_SETTINGS | NEEDS_PROGRAM | NOT_OF_RUN },
	{ "directory", doctor_directory, NEEDS_SETTINGS },
	{ "spool", doctor_spool, NEEDS_SETTINGS },
	{ "bucket", doctor_bucket, NEEDS_SETTINGS | NOT_OF_RUN },
	{ "pyroscope", doctor_pyroscope, NEEDS_SETTINGS | NOT_OF_RUN },
	{ "otlp", doctor_otlp, NEEDS_SETTINGS | NOT_OF_RUN },
};

void doctor_add_finding(struct doctor_subject *subject, enum severity severity, const char *name,
			const char *remedy, const char *format, ...)
{
	char line[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	text_clean_string(line);
	subject->report(subject, severity, name ? name : subject->check, line, remedy);
	subject->counts[severity]++;
}

static void print_finding(struct doctor_subject *subject, enum severity severity, const char *name,
			  const char *line, const char *remedy)
{
	static const char *const words[SEVERITIES] = { "stop", "note" };

	(void)subject;
	printf("%s%s%s  %s: %s\n      %s\n",
	       terminal_style(severity == SEVERITY_STOP ? STYLE_STOP : STYLE_NOTE), words[severity],
	       terminal_style(STYLE_NONE), name, line, remedy);
}

static void print_finding_json(struct doctor_subject *subject, enum severity severity,
			       const char *name, const char *line, const char *remedy)
{
	static const char *const words[SEVERITIES] = { "stop", "note" };
	bool is_first = !subject->counts[SEVERITY_STOP] && !subject->counts[SEVERITY_NOTE];

	printf("%s{\"severity\":\"%s\",\"id\":", is_first ? "" : ",\n", words[severity]);
	json_string(stdout, name);
	fputs(",\"problem\":", stdout);
	json_string(stdout, line);
	fputs(",\"remedy\":", stdout);
	json_string(stdout, remedy);
	putchar('}');
}

const char *doctor_get_variable(const struct doctor_subject *subject, const char *name)
{
	size_t length = strlen(name);

	for (char **p = subject->environment; p && *p; p++)
		if (!strncmp(*p, name, length) && (*p)[length] == '=')
			return *p + length + 1;
	return NULL;
}

static bool is_number(const char *word)
{
	const char *p = word;

	while (isdigit((unsigned char)*p))
		p++;
	return p > word && !*p && strlen(word) < 10;
}

void doctor_select_program(struct doctor_subject *p, const char *command)
{
	p->requested = command;
	p->environment = environ;
	p->seccomp = doctor_own_seccomp_mode();
	if (!command)
		return;
	if (preloadable_find_program(command, p->program))
		snprintf(p->program, sizeof(p->program), "%s", command);
	preloadable_check(&p->file, p->program);
}

static bool check_applies(const struct doctor_subject *p, unsigned int needs,
			  enum doctor_extent extent)
{
	if (needs & NEEDS_SETTINGS && !p->is_configured)
		return false;
	if (needs & NOT_OF_RUN && extent == DOCTOR_AFTER_RUN)
		return false;
	return !(needs & NEEDS_PROGRAM) || (p->requested && p->file.obstacle == PRELOADABLE);
}

int doctor_run_checks(struct doctor_subject *p, enum doctor_extent extent, doctor_report *report)
{
	int err = config_read(&p->config, p->environment, p->problem);

	p->is_configured = !err && p->config.enabled;
	err = 0;
	p->report = report;
	/* For a process, has_preload is read from its maps. */
	if (!p->pid)
		err = run_find_preload(p->library);
	for (size_t i = 0; !err && i < sizeof(checks) / sizeof(*checks); i++) {
		p->check = checks[i].name;
		if (check_applies(p, checks[i].needs, extent))
			checks[i].function(p);
	}
	return err ? COMMAND_FAILED : 0;
}

/* Command line: words[0] is the command or the PID; NULL: this machine and user only. */
struct request {
	char **words;
	bool is_command; /* words follow "--" */
	bool json, sends, tries;
};

/* A number is a PID, unless it follows "--". */
static bool request_has_pid(const struct request *r)
{
	return *r->words && !r->is_command && is_number(*r->words);
}

static void print_sent(const struct doctor_subject *p)
{
	for (unsigned int i = 0; i < p->sent_count; i++)
		if (!*p->sent[i].problem)
			printf("sent  %s: delivered as " DOCTOR_SENDER "\n",
			       p->sent[i].destination);
}

static void print_sent_json(const struct doctor_subject *p)
{
	fputs(",\"sent\":[", stdout);
	for (unsigned int i = 0; i < p->sent_count; i++) {
		printf("%s\n{\"destination\":", i ? "," : "");
		json_string(stdout, p->sent[i].destination);
		printf(",\"delivered\":%s,\"problem\":", *p->sent[i].problem ? "false" : "true");
		if (*p->sent[i].problem)
			json_string(stdout, p->sent[i].problem);
		else
			fputs("null", stdout);
		putchar('}');
	}
	putchar(']');
}

static void print_trial(const struct doctor_trial *trial)
{
	const char *separator = "      frames: ";

	printf("tried %.1f s: %.0f samples of CPU time, %.0f of wall-clock time\n", trial->seconds,
	       trial->cpu_samples, trial->wall_samples);
	if (trial->cpu_samples + trial->wall_samples <= 0)
		return;
	printf("      %.0f%% of the innermost functions have a name, %.0f%% of the stacks "
	       "reach the thread's entry\n",
	       100 * trial->named, 100 * trial->complete);
	for (unsigned int i = 0; i < DOCTOR_KINDS; i++) {
		if (!(trial->kinds & 1u << i))
			continue;
		printf("%s%s", separator, doctor_kind_names[i]);
		separator = ", ";
	}
	separator = trial->kinds ? "\n      heaviest: " : "      heaviest: ";
	for (unsigned int i = 0; i < trial->heaviest_count; i++, separator = ", ")
		printf("%s%s %.0f%%", separator, trial->heaviest[i].name,
		       100 * trial->heaviest[i].share);
	putchar('\n');
}

static void print_trial_json(const struct doctor_trial *trial)
{
	const char *separator = "";

	fputs(",\"tried\":", stdout);
	if (!trial->has_run) {
		fputs("null", stdout);
		return;
	}
	printf("{\"seconds\":%.3f,\"cpu_samples\":%.0f,\"wall_samples\":%.0f,\"named\":%.3f,"
	       "\"complete\":%.3f,\"frames\":[",
	       trial->seconds, trial->cpu_samples, trial->wall_samples, trial->named,
	       trial->complete);
	for (unsigned int i = 0; i < DOCTOR_KINDS; i++) {
		if (!(trial->kinds & 1u << i))
			continue;
		printf("%s\"%s\"", separator, doctor_kind_names[i]);
		separator = ",";
	}
	fputs("],\"heaviest\":[", stdout);
	for (unsigned int i = 0; i < trial->heaviest_count; i++) {
		printf("%s{\"name\":", i ? "," : "");
		json_string(stdout, trial->heaviest[i].name);
		printf(",\"share\":%.3f}", trial->heaviest[i].share);
	}
	fputs("]}", stdout);
}

/* Print what follows the findings. STATUS: COMMAND_FAILED if the checks could not be run. */
static void print_results(const struct doctor_subject *p, const struct request *r, int status)
{
	bool has_stop = p->counts[SEVERITY_STOP];

	if (r->json) {
		fputs("\n]", stdout);
		if (r->sends)
			print_sent_json(p);
		if (r->tries)
			print_trial_json(&p->trial);
		printf(",\"profiles\":%s}\n", status ? "null" : has_stop ? "false" : "true");
		return;
	}
	print_sent(p);
	if (p->trial.has_run)
		print_trial(&p->trial);
	if (!status)
		puts(has_stop ? "no profiles are made, because of each `stop`"
			      : "found nothing that prevents profiles");
}

static int run_request(struct doctor_subject *p, const struct request *r)
{
	doctor_report *report = r->json ? print_finding_json : print_finding;
	int status;

	if (r->json)
		puts("{\"findings\":[");
	if (request_has_pid(r)) {
		p->requested = *r->words;
		p->pid = atoi(*r->words);
		status = doctor_check_process(p, report) ? COMMAND_FAILED : 0;
		if (!status)
			doctor_live(p);
	} else {
		doctor_select_program(p, *r->words);
		status = doctor_run_checks(p, DOCTOR_ALL, report);
		if (!status && r->sends)
			doctor_send(p);
		if (!status && r->tries)
			doctor_try(p, r->words);
	}
	print_results(p, r, status);
	return p->counts[SEVERITY_STOP] ? COMMAND_FAILED : status;
}

/* Parse switches. Returns the first word after them, or NULL after a message. */
static char **parse_switches(struct request *r, char **argv)
{
	for (; *argv && **argv == '-' && !r->is_command; argv++) {
		if (!strcmp(*argv, "--json")) {
			r->json = true;
		} else if (!strcmp(*argv, "--send")) {
			r->sends = true;
		} else if (!strcmp(*argv, "--try")) {
			r->tries = true;
		} else if (!strcmp(*argv, "--")) {
			r->is_command = true;
		} else {
			message_print("doctor: no switch '%s'", *argv);
			return NULL;
		}
	}
	return argv;
}

/* Parse what may follow a PID: switches. Returns false after a message. */
static bool parse_after_pid(struct request *r)
{
	char **rest = parse_switches(r, r->words + 1);

	if (!rest)
		return false;
	if (!*rest && !r->is_command)
		return true;
	message_print("doctor: only switches may follow the PID %s", *r->words);
	return false;
}

/* Parse the command line. Returns 0, or COMMAND_USAGE after a message. */
static int parse_request(struct request *r, char **argv)
{
	argv = r->words = parse_switches(r, argv + 1);
	if (!argv || (request_has_pid(r) && !parse_after_pid(r)))
		return COMMAND_USAGE;
	if (r->is_command && !*argv) {
		message_print("doctor: no command given");
		return COMMAND_USAGE;
	}
	if (r->tries && (!*argv || request_has_pid(r))) {
		message_print("doctor: --try needs a COMMAND, which it runs");
		return COMMAND_USAGE;
	}
	if (r->sends && request_has_pid(r)) {
		message_print("doctor: --send uses this environment, not that of a process; run it "
			      "with the process's environment, without its PID");
		return COMMAND_USAGE;
	}
	return 0;
}

int cmd_doctor(int argc, char **argv)
{
	struct doctor_subject subject = { 0 };
	struct request request = { 0 };
	int status;

	(void)argc;
	status = parse_request(&request, argv);
	if (!status)
		status = run_request(&subject, &request);
	config_free(&subject.config);
	return status;
}
