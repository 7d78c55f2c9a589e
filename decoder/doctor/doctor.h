/* asprof-agent doctor: checks for what prevents profiles. cmd_doctor.c has a table of checks. Each check examines one
 * thing and reports findings with their remedies. */
#ifndef DECODER_DOCTOR_DOCTOR_H
#define DECODER_DOCTOR_DOCTOR_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/environment.h"
#include "core/options/config.h"
#include "core/shared.h"
#include "decoder/doctor/preloadable.h"
#include "upload/aws/aws.h"

enum severity {
	SEVERITY_STOP, /* no profiles are made */
	SEVERITY_NOTE, /* profiles are made, but incomplete */
	SEVERITIES,
};

struct doctor_subject;

/* Receives a finding: NAME of the check, LINE for the problem, REMEDY. */
typedef void doctor_report(struct doctor_subject *subject, enum severity severity, const char *name,
			   const char *line, const char *remedy);

/* Result of a delivery to one destination: --send. */
#define DOCTOR_SENDER          "asprof-agent-doctor" /* the program's name in the report */
#define DOCTOR_DESTINATION_MAX 512
struct doctor_sent {
	char destination[DOCTOR_DESTINATION_MAX];
	char problem[1024]; /* "": delivered */
};

/* Kinds of frames: "native", "Python". */
#define DOCTOR_KINDS 8
extern const char *const doctor_kind_names[DOCTOR_KINDS];

/* Result of --try. Shares are 0 to 1. */
#define DOCTOR_HEAVIEST 3
struct doctor_trial {
	bool has_run;
	double seconds;
	bool is_ended; /* by doctor */
	int status;    /* from waitpid(2) */
	int signo;     /* SIGINT or the like, which asks doctor to end; 0: none */

	double cpu_samples, wall_samples;
	double named;       /* share of samples whose innermost frame has a name */
	double complete;    /* share of samples whose stack reaches the thread's entry */
	unsigned int kinds; /* of frames, a mask of 1 << index in doctor_kind_names */
	struct {
		char name[256];
		double share; /* of the samples of CPU time; without any, of those of wall-clock time */
	} heaviest[DOCTOR_HEAVIEST];
	unsigned int heaviest_count;
};

/* Subject of the checks: a program to start, a process, or this machine and user only. */
struct doctor_subject {
	const char *requested; /* as the user named it; NULL: this machine and user only */
	pid_t pid;             /* 0: no process */
	bool has_preload;      /* the preload is mapped into the process */
	bool is_isolated; /* namespaces or a seccomp filter may block it from what this process can access */
	int seccomp;             /* seccomp mode of the process, or of this process */
	char program[PATH_MAX];  /* path of the program, which may be a script */
	char library[PATH_MAX];  /* path or soname of the preload */
	struct preloadable file; /* the file that is executed for the program */

	char **environment;   /* of the subject, or of this process */
	struct config config; /* from the environment; all zero if it is invalid */
	bool is_configured;
	char problem[OPTION_PROBLEM_MAX]; /* "": valid, or switched off */

	const char *check; /* name of the current check */
	doctor_report *report;
	unsigned int counts[SEVERITIES];

	struct doctor_sent sent[REPORTERS_MAX];
	unsigned int sent_count;
	struct doctor_trial trial;
};

/* Set SUBJECT to COMMAND, found as by execvp(3), in this process's environment. NULL: this machine and user only. */
void doctor_select_program(struct doctor_subject *subject, const char *command);

/* Run all applicable checks in the order of the table, and pass findings to REPORT. DOCTOR_AFTER_RUN skips checks whose
 * result the agent itself has reported, and checks that need the network.
 * Returns 0, or COMMAND_FAILED after a message if the preload's path is unusable. */
enum doctor_extent { DOCTOR_ALL, DOCTOR_AFTER_RUN };
int doctor_run_checks(struct doctor_subject *subject, enum doctor_extent extent,
		      doctor_report *report);

/* Run the checks on process subject->pid, in a child with that process's credentials. Thus the owner of its environment
 * gets no rights of the caller. Returns 0, or -errno after a message. */
int doctor_check_process(struct doctor_subject *subject, doctor_report *report);

/* Returns the seccomp mode of this process. */
int doctor_own_seccomp_mode(void);

/* Parse the child's answer, which is not trusted and is overwritten. For doctor_check_process() and its test.
 * Returns 0; -EPERM after the child's error message; -EPROTO for an invalid or truncated answer. Findings before
 * the error are reported. */
int doctor_parse_answer(struct doctor_subject *subject, char *data, size_t length);

/* Report a finding. NAME: NULL for the name of the current check. */
void doctor_add_finding(struct doctor_subject *subject, enum severity severity, const char *name,
			const char *remedy, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* Returns the value of NAME in the subject's environment, or NULL. */
const char *doctor_get_variable(const struct doctor_subject *subject, const char *name);

typedef void doctor_check(struct doctor_subject *subject);

/* doctor_program.c: file of the program. */
doctor_check doctor_preloadable, doctor_library, doctor_malloc, doctor_unwind, doctor_symbols,
	doctor_go, doctor_java, doctor_engine;
/* doctor_settings.c: settings, environment and kernel. */
doctor_check doctor_settings, doctor_unknown, doctor_left_out, doctor_preloaded, doctor_perf,
	doctor_seccomp, doctor_exit;
/* doctor_destinations.c: directories and the bucket. */
doctor_check doctor_directory, doctor_spool, doctor_bucket;
/* doctor_servers.c: Pyroscope and OTLP servers. */
doctor_check doctor_pyroscope, doctor_otlp;
/* doctor_live.c: live endpoint of the process. Runs in the caller, whose user the endpoint accepts. */
doctor_check doctor_live;

/* doctor_send.c: deliver a small report to each destination of the settings of this process's environment, each within
 * ten seconds. Stores the results in the subject. */
doctor_check doctor_send;

/* decoder/commands/doctor_try.c: run ARGV for two seconds and profile it, in a private directory. Stores the result in the subject. */
void doctor_try(struct doctor_subject *subject, char **argv);

/* HTTP client with the subject's environment. doctor_network_open() returns 0, or not 0 after a finding if the network
 * must not be used. */
struct doctor_network {
	struct aws aws;
	struct environment environment;
	sigset_t before;
};
int doctor_network_open(struct doctor_network *network, struct doctor_subject *subject);
void doctor_network_close(struct doctor_network *network);

#endif
