/* doctor --send: delivers a small report to each destination of the settings, by the agent's reporters. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/agent/report.h"
#include "core/clock.h"
#include "core/fd.h"
#include "core/text/text_clean.h"
#include "decoder/doctor/doctor.h"
#include "decoder/output/log_capture.h"
#include "engine/jfr/jfr_write.h"
#include "profile/basics/text.h"
#include "upload/files/name.h"
#include "upload/files/place.h"
#include "upload/local/local.h"
#include "upload/queue/origin.h"
#include "upload/reporters/reporter_table.h"

#define SECONDS_MAX 10
#define TRIES       3

#define REPORT_MS 1000

/* ---- the report ---- */

static int name_frame(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		      struct jfr_frame_name *out)
{
	(void)context;
	(void)pcs;
	(void)is_return;
	for (size_t i = 0; i < count; i++)
		out[i] = (struct jfr_frame_name){ .class_name = DOCTOR_SENDER,
						  .method_name = "doctor_send",
						  .type = JFR_FRAME_NATIVE };
	return 0;
}

/* Write a recording of one sample to FD. */
static int recording_write(int fd, const struct report *report)
{
	static const uintptr_t pc = 0x1000;
	uint64_t start_ns = report->start_ms * 1000000, ticks = clock_ticks();
	struct jfr_writer *jfr;
	int err = jfr_writer_open(&jfr, fd, 0);

	if (err)
		return err;
	err = jfr_chunk_begin(jfr, start_ns, ticks);
	jfr_setting(jfr, ticks, "version", report->engine_version);
	jfr_setting(jfr, ticks, "engine", report->engine);
	jfr_setting(jfr, ticks, "interval", "10000000");
	jfr_setting(jfr, ticks, "agent.host", report->host);
	jfr_setting(jfr, ticks, "agent.executable", report->executable);
	jfr_thread(jfr, report->pid, DOCTOR_SENDER);
	jfr_execution_sample(jfr, ticks, report->pid, jfr_stack(jfr, &pc, 1, false),
			     JFR_STATE_DEFAULT);
	if (!err)
		err = jfr_chunk_end(jfr, start_ns + REPORT_MS * 1000000ull, clock_ticks(),
				    name_frame, NULL, NULL);
	jfr_writer_close(jfr);
	return err;
}

static int report_make(struct report *report, char *host, size_t host_size)
{
	uint64_t now_ms = clock_realtime_ns() / 1000000;
	int fd = memfd_create(DOCTOR_SENDER, MFD_CLOEXEC), err;
	struct stat st;

	if (fd < 0)
		return -errno;
	memset(host, 0, host_size);
	gethostname(host, host_size - 1);
	*report = (struct report){ .part_count = 1,
				   .start_ms = now_ms - REPORT_MS,
				   .end_ms = now_ms,
				   .interval_ms = REPORT_MS,
				   .pid = getpid(),
				   .executable = DOCTOR_SENDER,
				   .host = host,
				   .group = DOCTOR_SENDER,
				   .engine = "builtin",
				   .engine_version = ASPROF_AGENT_VERSION,
				   .sampling.interval_ns = 10000000,
				   .samples_taken = 1,
				   .final = true,
				   .unique = name_unique() };
	err = recording_write(fd, report);
	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err)
		report->parts[0] = (struct report_part){ .fd = fd, .length = (uint64_t)st.st_size };
	return err;
}

/* ---- the child, which delivers it ---- */

/* Change the settings so that the report is found under the doctor's name, and that no report is deleted for it. */
static int settings_prepare(struct config *config)
{
	config->profiling_group = DOCTOR_SENDER;
	config->local_max_bytes = 0;
	config->local_max_bytes_set = true;
	config->local_max_age_ns = OPTION_OFF;
	if (setenv("OTEL_SERVICE_NAME", DOCTOR_SENDER, 1))
		return -ENOMEM;
	return place_capture(config, environ) ? -ENOMEM : origin_capture(environ);
}

/* Open the reporter and deliver. A reporter may learn from a response, for example the bucket's region, and then needs
 * another try. */
static int destination_deliver(const struct reporter_row *row, struct config *config,
			       char name[DOCTOR_DESTINATION_MAX])
{
	struct reporter *reporter;
	struct report report;
	char host[256];
	int err = settings_prepare(config);

	if (!err)
		err = report_make(&report, host, sizeof(host));
	if (!err)
		err = row->open(&reporter, config);
	if (err)
		return err;
	snprintf(name, DOCTOR_DESTINATION_MAX, "%s",
		 reporter->destination ? reporter->destination : reporter->name);
	if (row->open == local_reporter_open && reporter->destination)
		*strrchr(name, ' ') = '\0'; /* the directory's inode number */
	for (int i = 0; i < TRIES; i++) {
		if (i)
			sleep(1);
		err = reporter->deliver(reporter, &report);
		if (err != -EAGAIN)
			break;
	}
	return err;
}

/* Deliver, and write the destination and the last line of the log to OUT, one line each. The exit status is the error. */
__attribute__((noreturn)) static void child_send(const struct reporter_row *row,
						 struct config *config, int out)
{
	char name[DOCTOR_DESTINATION_MAX], line[1024] = "", answer[sizeof(name) + sizeof(line) + 2];
	sigset_t set;
	int err;

	/* Threads of the HTTP client must not handle signals. */
	sigfillset(&set);
	sigdelset(&set, SIGINT);
	sigdelset(&set, SIGTERM);
	sigdelset(&set, SIGALRM);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGALRM, SIG_DFL);
	alarm(SECONDS_MAX);
	snprintf(name, sizeof(name), "%s", row->name);
	log_capture_start();
	err = destination_deliver(row, config, name);
	while (log_capture_next_line(line, sizeof(line)))
		;
	text_clean_string(name);
	text_clean_string(line);
	snprintf(answer, sizeof(answer), "%s\n%s", name, line);
	fd_write(out, answer, strlen(answer), -1);
	_exit(-err & 0xff);
}

/* ---- the parent ---- */

/* Run the child. ANSWER receives its output. Returns its error. */
static int child_run(const struct reporter_row *row, struct config *config, char *answer,
		     size_t size)
{
	size_t length = 0;
	int ends[2], status = 0;
	ssize_t n;
	pid_t child;

	*answer = '\0';
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	child = fork();
	if (!child)
		child_send(row, config, ends[1]);
	close(ends[1]);
	while (child > 0 && length < size - 1 &&
	       (n = read(ends[0], answer + length, size - 1 - length)) > 0)
		length += (size_t)n;
	answer[length] = '\0';
	close(ends[0]);
	if (child < 0)
		return -EAGAIN;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGALRM ? -ETIMEDOUT : -EINTR;
	return -WEXITSTATUS(status);
}

static const char *find_remedy(const struct reporter_row *row, int err)
{
	if (err == -EAGAIN)
		return "Wait, or check the server.";
	if (err == -EACCES || err == -EPERM || err == -EBADMSG || row->open == local_reporter_open)
		return row->remedy;
	return "Check the name, the network and, with https, the certificates.";
}

/* LINE is from the log, and names the destination; "": there is none. */
static void add_finding(struct doctor_subject *p, const struct reporter_row *row,
			const struct doctor_sent *sent, const char *line, int err)
{
	if (!err)
		doctor_add_finding(p, SEVERITY_NOTE, NULL, row->remedy, "%s", line);
	else
		doctor_add_finding(p, err == -EAGAIN ? SEVERITY_NOTE : SEVERITY_STOP, NULL,
				   find_remedy(row, err), "%s%s%s%s",
				   *line ? "" : "no delivery to ", *line ? "" : sent->destination,
				   *line ? "" : ": ", sent->problem);
}

static void destination_send(struct doctor_subject *p, const struct reporter_row *row)
{
	char answer[DOCTOR_DESTINATION_MAX + 1024 + 2], *line;
	struct doctor_sent *sent = &p->sent[p->sent_count++];
	int err = child_run(row, &p->config, answer, sizeof(answer));

	line = strchrnul(answer, '\n');
	if (*line)
		*line++ = '\0';
	snprintf(sent->destination, sizeof(sent->destination), "%.*s",
		 (int)sizeof(sent->destination) - 1, *answer ? answer : row->name);
	if (err == -ETIMEDOUT && !*line)
		snprintf(sent->problem, sizeof(sent->problem), "no result within %d s",
			 SECONDS_MAX);
	else if (err)
		snprintf(sent->problem, sizeof(sent->problem), "%.*s",
			 (int)sizeof(sent->problem) - 1, *line ? line : strerror(-err));
	if (err || *line)
		add_finding(p, row, sent, line, err);
}

void doctor_send(struct doctor_subject *p)
{
	p->check = "send";
	if (!p->is_configured)
		return;
	for (size_t i = 0; i < reporter_table_count; i++)
		if (reporter_table[i].is_wanted(&p->config))
			destination_send(p, &reporter_table[i]);
}
