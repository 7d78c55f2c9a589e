/* ps: profiled processes of this machine, with the status that each reports. */
#include "decoder/commands/commands.h"
#include "decoder/live/live_endpoint.h"
#include "decoder/live/live_request.h"
#include "decoder/output/message.h"
#include "engine/process/proc_file.h"
#include "profile/basics/text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Number of concurrent requests, descriptors that each may have, and stack size of a thread that makes them. */
#define REQUESTS_MAX  256
#define REQUEST_FILES 8
#define STACK_BYTES   (256u << 10)

static const struct command_option ps_switches[] = {
	{ "--json", NULL, "print JSON", 0, 0 },
	{ 0 },
};

const struct command_option *const ps_options[] = { ps_switches, NULL };

struct ps_result {
	bool json;
	unsigned shown, refused;
};

static double json_number_at(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Format a time: "12:01:59" if it is today, else "2026-11-21". */
static const char *format_time(double ms, char text[TEXT_NUMBER])
{
	char today[TEXT_NUMBER];

	if (!(ms > 0))
		return "-";
	text_local_time(today, (double)time(NULL) * 1000, "%Y-%m-%d");
	text_local_time(text, ms, "%Y-%m-%d");
	return strcmp(text, today) ? text : text_local_time(text, ms, "%H:%M:%S");
}

/* The kernel's name of process PID. Returns false when the process has ended. */
static bool read_name(pid_t pid, char name[64])
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (proc_file_read(path, name, 64) <= 0)
		return false;
	name[strcspn(name, "\n")] = '\0';
	return true;
}

static void print_status_row(pid_t pid, const cJSON *status)
{
	const cJSON *samples = cJSON_GetObjectItemCaseSensitive(status, "samples");
	const cJSON *reports = cJSON_GetObjectItemCaseSensitive(status, "reports");
	bool running = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(status, "running"));
	const char *executable = live_json_text(status, "executable");
	char since[TEXT_NUMBER], last[TEXT_NUMBER], name[64];

	read_name(pid, name);
	print_clean("%7d %-16.16s %-15.15s %-10s %10.17g %6.17g  %s\n", pid,
		    *executable ? executable : name,
		    running ? live_json_text(status, "engine") : "stopped",
		    format_time(json_number_at(status, "since_ms"), since),
		    json_number_at(samples, "taken"), json_number_at(samples, "lost"),
		    format_time(json_number_at(reports, "last_ms"), last));
}

static void print_status_json(pid_t pid, const cJSON *status)
{
	const cJSON *samples = cJSON_GetObjectItemCaseSensitive(status, "samples");
	const cJSON *reports = cJSON_GetObjectItemCaseSensitive(status, "reports");
	bool running = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(status, "running"));

	printf("{\"pid\":%d,\"name\":", pid);
	json_string(stdout, live_json_text(status, "executable"));
	printf(",\"running\":%s,\"engine\":", running ? "true" : "false");
	json_string(stdout, live_json_text(status, "engine"));
	fputs(",\"since_ms\":", stdout);
	json_number(stdout, json_number_at(status, "since_ms"));
	fputs(",\"samples\":", stdout);
	json_number(stdout, json_number_at(samples, "taken"));
	fputs(",\"samples_lost\":", stdout);
	json_number(stdout, json_number_at(samples, "lost"));
	fputs(",\"last_report_ms\":", stdout);
	json_number(stdout, json_number_at(reports, "last_ms"));
	putchar('}');
}

/* Answer of one process. */
struct ps_row {
	pid_t pid;
	int err;
	struct buf answer;
};

/* Concurrent requests: a process that does not answer delays no other. */
struct ps_requests {
	struct ps_row *rows;
	size_t count;
	atomic_size_t next;
};

static void *ps_request_loop(void *context)
{
	struct ps_requests *requests = context;
	size_t i;

	while ((i = atomic_fetch_add(&requests->next, 1)) < requests->count) {
		struct ps_row *row = &requests->rows[i];
		struct live_request request = { .pid = row->pid,
						.method = "GET",
						.path = "/status",
						.body = "",
						.captures_problem = true,
						.is_scan = true };

		row->answer = (struct buf)BUF_INIT(LIVE_STATUS_MAX);
		row->err = live_request_send(&request, &row->answer);
	}
	return NULL;
}

/* Returns how many requests can be made at a time, after the soft limit of descriptors is raised. */
static size_t ps_concurrent_requests(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return REQUESTS_MAX;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_max / REQUEST_FILES < REQUESTS_MAX ? limit.rlim_max / REQUEST_FILES
							     : REQUESTS_MAX;
}

static void ps_request_all(struct ps_requests *requests)
{
	pthread_t threads[REQUESTS_MAX];
	size_t started = 0, most = ps_concurrent_requests();
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	while (started + 1 < most && started + 1 < requests->count &&
	       !pthread_create(&threads[started], &attr, ps_request_loop, requests))
		started++;
	ps_request_loop(requests);
	while (started)
		pthread_join(threads[--started], NULL);
	pthread_attr_destroy(&attr);
}

static const char *error_text(int err)
{
	return err == -ENOTCONN    ? "no live endpoint"
	       : err == -EREMOTEIO ? "refuses; see asprof-agent status"
				   : "no answer";
}

static void print_row_without_status(const struct ps_result *result, const struct ps_row *row,
				     const char *name)
{
	if (result->json)
		printf("{\"pid\":%d,\"error\":\"%s\"}", row->pid, error_text(row->err));
	else
		print_clean("%7d %-16.16s %s\n", row->pid, name, error_text(row->err));
}

/* Print ROW, whose STATUS is NULL if the process, called NAME, did not give it. */
static void print_row(struct ps_result *result, const struct ps_row *row, const cJSON *status,
		      const char *name)
{
	if (result->json)
		fputs(result->shown ? ",\n" : "", stdout);
	else if (!result->shown)
		printf("%7s %-16s %-15s %-10s %10s %6s  %s\n", "PID", "NAME", "ENGINE", "SINCE",
		       "SAMPLES", "LOST", "LAST REPORT");
	result->shown++;
	if (status)
		(result->json ? print_status_json : print_status_row)(row->pid, status);
	else
		print_row_without_status(result, row, name);
}

static void print_process(struct ps_result *result, struct ps_row *row)
{
	cJSON *status =
		row->err ? NULL
			 : cJSON_ParseWithLength((char *)row->answer.data, row->answer.length);
	char name[64] = "";

	if (row->err == -EACCES)
		result->refused++;
	else if (row->err != -ESRCH && row->err != -ENOENT && (status || read_name(row->pid, name)))
		print_row(result, row, status, name);
	cJSON_Delete(status);
	buf_free(&row->answer);
}

int cmd_ps(int argc, char **argv)
{
	struct ps_result result = { .json = argc == 2 && !strcmp(argv[1], "--json") };
	struct ps_requests requests = { 0 };
	pid_t *pids;
	char name[64];

	if (argc > 1 && !result.json) {
		message_print("%s takes no arguments but --json", argv[0]);
		return COMMAND_USAGE;
	}
	if (!read_name(getpid(), name)) {
		message_print("ps needs the processes in /proc, which is not mounted, or not that "
			      "of this PID namespace");
		return COMMAND_FAILED;
	}
	requests.count = live_endpoint_list_processes(&pids);
	requests.rows = calloc(requests.count + 1, sizeof(*requests.rows));
	if (!requests.rows) {
		message_print("out of memory");
		free(pids);
		return COMMAND_FAILED;
	}
	for (size_t i = 0; i < requests.count; i++)
		requests.rows[i].pid = pids[i];
	ps_request_all(&requests);
	if (result.json)
		puts("[");
	for (size_t i = 0; i < requests.count; i++)
		print_process(&result, &requests.rows[i]);
	if (result.json)
		puts("\n]");
	free(requests.rows);
	free(pids);
	if (result.refused)
		message_print("%u more process%s of other users: only root can see %s",
			      result.refused, result.refused == 1 ? "" : "es",
			      result.refused == 1 ? "it" : "them");
	else if (!result.shown)
		message_print("no profiled process that this user can see");
	return COMMAND_OK;
}
