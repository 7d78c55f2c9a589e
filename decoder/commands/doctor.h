/* asprof-agent doctor: what would keep profiles from coming. One table of checks (cmd_doctor.c); each
 * looks at one thing and tells what it finds, with what mends it. */
#ifndef DECODER_COMMANDS_DOCTOR_H
#define DECODER_COMMANDS_DOCTOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/options/config.h"
#include "decoder/commands/preloadable.h"

enum severity {
	SEVERITY_STOP, /* no profiles come */
	SEVERITY_NOTE, /* they come, but for something */
	SEVERITIES,
};

struct patient;

/* A finding of PATIENT's, as NAME, LINE and what mends it. */
typedef void doctor_report(struct patient *patient, enum severity severity, const char *name,
			   const char *line, const char *mend);

/* What is looked at: a program that would be started, a process, or this machine and user alone. */
struct patient {
	const char *asked;       /* as the user named it; NULL: this machine and user alone */
	pid_t pid;               /* 0: no process */
	bool has_preload;        /* the preload is mapped into the process */
	char root[32];           /* what its paths lie below: "", or "/proc/PID/root" */
	char program[PATH_MAX];  /* as it is started, a script perhaps */
	char library[PATH_MAX];  /* the preload: its path, or its name alone */
	struct preloadable file; /* what is executed for it */

	char **environment;   /* its, or ours */
	struct config config; /* read from that; all zero where it is wrong */
	bool configured;
	char problem[OPTION_PROBLEM_MAX]; /* why not; "" where they are read, and switch it off */

	const char *check; /* the one that is under way */
	doctor_report *tell;
	unsigned int found[SEVERITIES];
};

/* Look at COMMAND, as execvp(3) would find it, in this process's environment; NULL: at this machine and
 * user alone. */
void doctor_select_program(struct patient *patient, const char *command);

/* Make the checks that apply, in the order of the table, and have TELL hear of what they find. Where the
 * program has been run already, OF_RUN leaves out what the agent then says by itself, and what asks the
 * network. Returns 0, or COMMAND_FAILED where the preload's place cannot be told. */
enum doctor_extent { DOCTOR_ALL, DOCTOR_AFTER_RUN };
int doctor_run_checks(struct patient *patient, enum doctor_extent extent, doctor_report *tell);

/* Tell of a finding, under the name of the check or, where NAME is one, under that. */
void doctor_add_finding(struct patient *patient, enum severity severity, const char *name,
			const char *mend, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* The value of NAME in the patient's environment; NULL where it has none. */
const char *doctor_get_variable(const struct patient *patient, const char *name);

/* What the program's dynamic linker says when it is asked to list what it would load with LIBRARY
 * preloaded; it does not run the program. True when it has nothing against it; else LINE says what. */
bool linker_accepts(const struct patient *patient, const char *library, char *line, size_t size);

typedef void doctor_check(struct patient *patient);

/* doctor_program.c: the program's file. */
doctor_check doctor_preloadable, doctor_library, doctor_malloc, doctor_unwind, doctor_symbols,
	doctor_go, doctor_java, doctor_engine;
/* doctor_settings.c: settings, and what the process or its surroundings are like. */
doctor_check doctor_settings, doctor_unknown, doctor_left_out, doctor_preloaded, doctor_perf,
	doctor_seccomp;
/* doctor_destinations.c: where profiles go. */
doctor_check doctor_directory, doctor_spool, doctor_bucket;

#endif
