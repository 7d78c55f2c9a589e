/* ps: the profiled processes of this machine, each as it says itself. */
#include "decoder/commands/commands.h"
#include "decoder/live/live_endpoint.h"
#include "decoder/live/live_request.h"
#include "decoder/output/message.h"
#include "profile/basics/text.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct command_option own_options[] = {
	{ 0 },
};

const struct command_option *const ps_options[] = { own_options, NULL };

struct listing {
	unsigned shown, refused;
};

static double json_number_at(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static const char *live_json_text(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsString(item) ? item->valuestring : "";
}

/* "12:01:59" of today, else "2026-11-21". */
static const char *format_time(double ms, char *text, size_t size)
{
	time_t then = (time_t)(ms / 1000), now = time(NULL);
	struct tm tm, today;

	if (then <= 0)
		return "-";
	localtime_r(&then, &tm);
	localtime_r(&now, &today);
	strftime(text, size,
		 tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday ? "%H:%M:%S"
									    : "%Y-%m-%d",
		 &tm);
	return text;
}

static void print_row_name(const char *name)
{
	char shown[17] = "";
	size_t length = 0;

	/* What a process calls itself is not for the terminal to obey. */
	for (; *name && length < sizeof(shown) - 1; name++)
		shown[length++] = (unsigned char)*name < ' ' || *name == 0x7f ? '?' : *name;
	shown[length] = '\0';
	printf("%-16s ", shown);
}

static void print_status_row(pid_t pid, const cJSON *status)
{
	const cJSON *samples = cJSON_GetObjectItemCaseSensitive(status, "samples");
	const cJSON *reports = cJSON_GetObjectItemCaseSensitive(status, "reports");
	bool running = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(status, "running"));
	char since[32], last[32];

	printf("%7d ", pid);
	print_row_name(live_json_text(status, "executable"));
	printf("%-15.15s %-10s %10.0f %6.0f  %s\n",
	       running ? live_json_text(status, "engine") : "stopped",
	       format_time(json_number_at(status, "since_ms"), since, sizeof(since)),
	       json_number_at(samples, "taken"), json_number_at(samples, "lost"),
	       format_time(json_number_at(reports, "last_ms"), last, sizeof(last)));
}

static void print_process(void *context, pid_t pid)
{
	struct listing *listing = context;
	struct buf answer = BUF_INIT(1u << 20);
	int err = live_request_send(pid, "GET", "/status", "", 0, &answer, true);
	cJSON *status = err ? NULL : cJSON_ParseWithLength((char *)answer.data, answer.length);

	if (err == -EACCES) {
		listing->refused++;
	} else if (err != -ESRCH && err != -ENOENT) {
		if (!listing->shown++)
			printf("%7s %-16s %-15s %-10s %10s %6s  %s\n", "PID", "NAME", "ENGINE",
			       "SINCE", "SAMPLES", "LOST", "LAST REPORT");
		if (status)
			print_status_row(pid, status);
		else
			printf("%7d %-16s %s\n", pid, "-",
			       err == -ENOTCONN ? "no live endpoint" : "no answer");
	}
	cJSON_Delete(status);
	buf_free(&answer);
}

int cmd_ps(int argc, char **argv)
{
	struct listing listing = { 0 };

	if (argc > 1) {
		say("%s takes no arguments", argv[0]);
		return COMMAND_USAGE;
	}
	find_each(print_process, &listing);
	if (listing.refused)
		say("%u more process%s of other users: root sees them all", listing.refused,
		    listing.refused == 1 ? "" : "es");
	else if (!listing.shown)
		say("no process is profiled here, that this user may see");
	return COMMAND_OK;
}
