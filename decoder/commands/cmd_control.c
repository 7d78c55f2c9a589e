/* status, start, stop, flush, set: questions and orders to a running process. */
#include "decoder/commands/commands.h"
#include "decoder/live/live_request.h"
#include "decoder/output/message.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct command_option status_own[] = {
	{ "--json", NULL, "as the process says it", 0, 0 },
	{ 0 },
};

/* Those that session_live.c lets be changed, with values as in the environment. */
static const struct command_option set_switches[] = {
	{ "CPU_INTERVAL=", NULL, "CPU time between samples of a thread (10ms, off)", 0, 0 },
	{ "WALL_INTERVAL=", NULL, "wall time between them (1s, off)", 0, 0 },
	{ "NATIVE_MEM=", NULL, "bytes allocated between samples (512k, off)", 0, 0 },
	{ "STALLS=", NULL, "turns of event loops that are longer are told (10ms, off)", 0, 0 },
	{ "REPORTING_INTERVAL=", NULL, "time between reports (30s)", 0, 0 },
	{ "PROFILING_GROUP=", NULL, "the group in uploaded names", 0, 0 },
	{ "TAGS=", NULL, "key=value,... in reports", 0, 0 },
	{ "LOG=", NULL, "off, error, warn, info or debug", 0, 0 },
	{ 0 },
};

static const struct command_option nothing[] = {
	{ 0 },
};

const struct command_option *const status_options[] = { status_own, NULL };
const struct command_option *const order_options[] = { nothing, NULL };
const struct command_option *const set_options[] = { set_switches, NULL };

/* Reports of a large program may take a while. */
#define ORDER_WAIT_NS 60000000000u

bool command_pid(const char *text, pid_t *pid)
{
	char *end;
	long number = text ? strtol(text, &end, 10) : 0;

	if (!text || *end || number <= 0 || number > 1 << 22) {
		say(text ? "'%s' is not the number of a process"
			 : "which process? Give its number%s",
		    text ? text : "");
		return false;
	}
	*pid = (pid_t)number;
	return true;
}

/* ---- status ---- */

static void print_value(const cJSON *item)
{
	bool is_time = item->string && strlen(item->string) > 3 &&
		       !strcmp(item->string + strlen(item->string) - 3, "_ms");
	char text[64];

	if (cJSON_IsString(item)) {
		for (const char *p = item->valuestring; *p; p++)
			putchar((unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p);
		putchar('\n');
	} else if (cJSON_IsNumber(item) && is_time && item->valuedouble > 0) {
		time_t seconds = (time_t)(item->valuedouble / 1000);
		struct tm tm;

		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", localtime_r(&seconds, &tm));
		puts(text);
	} else if (cJSON_IsNumber(item)) {
		printf("%.0f\n", item->valuedouble);
	} else {
		puts(cJSON_IsTrue(item) ? "yes" : cJSON_IsFalse(item) ? "no" : "off");
	}
}

static void print_object(const cJSON *object, const char *before)
{
	const cJSON *item, *each;
	char name[128];

	cJSON_ArrayForEach(item, object)
	{
		snprintf(name, sizeof(name), "%s%s", before, item->string ? item->string : "");
		if (cJSON_IsObject(item)) {
			strncat(name, ".", sizeof(name) - strlen(name) - 1);
			print_object(item, name);
		} else if (cJSON_IsArray(item)) {
			cJSON_ArrayForEach(each, item)
			{
				const cJSON *called =
					cJSON_GetObjectItemCaseSensitive(each, "name");

				snprintf(name, sizeof(name), "%s%s.", before,
					 cJSON_IsString(called) ? called->valuestring
								: item->string);
				print_object(each, name);
			}
		} else {
			printf("%-36s ", name);
			print_value(item);
		}
	}
}

int cmd_status(int argc, char **argv)
{
	struct buf answer = BUF_INIT(1u << 20);
	bool json = false;
	const char *which = NULL;
	cJSON *status;
	pid_t pid;
	int err;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) {
			json = true;
		} else if (which || argv[i][0] == '-') {
			say("status: '%s' is too much", argv[i]);
			return COMMAND_USAGE;
		} else {
			which = argv[i];
		}
	}
	if (!command_pid(which, &pid))
		return COMMAND_USAGE;
	err = live_request_send(pid, "GET", "/status", "", 0, &answer, false);
	status = err ? NULL : cJSON_ParseWithLength((char *)answer.data, answer.length);
	if (!err && !status) {
		say("process %d: its answer is no JSON", pid);
		err = -EPROTO;
	} else if (!err && json) {
		fwrite(answer.data, 1, answer.length, stdout);
	} else if (!err) {
		print_object(status, "");
	}
	cJSON_Delete(status);
	buf_free(&answer);
	return err ? COMMAND_FAILED : COMMAND_OK;
}

/* ---- Orders ---- */

static int cmd_control(int argc, char **argv, const char *path)
{
	struct buf answer = BUF_INIT(1u << 20);
	pid_t pid;
	int err;

	if (argc > 2) {
		say("%s takes the number of a process alone", argv[0]);
		return COMMAND_USAGE;
	}
	if (!command_pid(argv[1], &pid))
		return COMMAND_USAGE;
	err = live_request_send(pid, "POST", path, "", ORDER_WAIT_NS, &answer, false);
	buf_free(&answer);
	return err ? COMMAND_FAILED : COMMAND_OK;
}

int cmd_start(int argc, char **argv)
{
	return cmd_control(argc, argv, "/start");
}

int cmd_stop(int argc, char **argv)
{
	return cmd_control(argc, argv, "/stop");
}

int cmd_flush(int argc, char **argv)
{
	return cmd_control(argc, argv, "/flush");
}

/* TEXT as a form has it. */
static int body_append_escaped(struct buf *body, const char *text, size_t length)
{
	int err = 0;

	for (size_t i = 0; i < length && !err; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    strchr("_.-~", c))
			err = buf_append(body, text + i, 1);
		else
			err = buf_printf(body, "%%%02X", c);
	}
	return err;
}

int cmd_set(int argc, char **argv)
{
	struct buf body = BUF_INIT(65536), answer = BUF_INIT(1u << 20);
	pid_t pid;
	int err = 0;

	if (!command_pid(argv[1], &pid))
		return COMMAND_USAGE;
	if (argc < 3) {
		say("set what? Give KEY=VALUE, as CPU_INTERVAL=10ms");
		return COMMAND_USAGE;
	}
	for (int i = 2; i < argc && !err; i++) {
		const char *equals = strchr(argv[i], '=');

		if (!equals) {
			say("'%s' is not KEY=VALUE", argv[i]);
			buf_free(&body);
			return COMMAND_USAGE;
		}
		err = body_append_escaped(&body, argv[i], (size_t)(equals - argv[i]));
		if (!err)
			err = buf_append_string(&body, "=");
		if (!err)
			err = body_append_escaped(&body, equals + 1, strlen(equals + 1));
		if (!err)
			err = buf_append_string(&body, "&");
	}
	if (err)
		say("the settings are too long");
	else
		err = live_request_send(pid, "POST", "/options", buf_string(&body), ORDER_WAIT_NS,
					&answer, false);
	buf_free(&body);
	buf_free(&answer);
	return err ? COMMAND_FAILED : COMMAND_OK;
}
