/* status, start, stop, flush, set: requests to a running process. */
#include "decoder/commands/commands.h"
#include "decoder/live/live_request.h"
#include "decoder/output/message.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profile/basics/text.h"

static const struct command_option status_switches[] = {
	{ "--json", NULL, "print JSON", 0, 0 },
	{ 0 },
};

/* Options that session_live.c accepts, with values as in the environment. */
static const struct command_option set_switches[] = {
	{ "CPU_INTERVAL=", NULL, "CPU time between samples of a thread (10ms, off)", 0, 0 },
	{ "WALL_INTERVAL=", NULL, "wall-clock time between samples (1s, off)", 0, 0 },
	{ "NATIVE_MEM=", NULL, "bytes allocated between samples (512k, off)", 0, 0 },
	{ "BUDGET=", NULL, "CPU time for samples, as a share of the program's (1%, off)", 0, 0 },
	{ "STALLS=", NULL, "report longer iterations of event loops (10ms, off)", 0, 0 },
	{ "REPORTING_INTERVAL=", NULL, "time between reports (30s)", 0, 0 },
	{ "PROFILING_GROUP=", NULL, "the group in uploaded names", 0, 0 },
	{ "TAGS=", NULL, "key=value,... in reports", 0, 0 },
	{ "LOG=", NULL, "off, error, warn, info or debug", 0, 0 },
	{ 0 },
};

const struct command_option *const status_options[] = { status_switches, NULL };
const struct command_option *const set_options[] = { set_switches, NULL };

/* Extra time for reports of a large program. */
#define CONTROL_WAIT_NS 60000000000u

bool command_parse_pid(const char *text, pid_t *pid)
{
	char *end;
	long number = text ? strtol(text, &end, 10) : 0;

	if (!text || *end || number <= 0 || number > 1 << 22) {
		message_print(text ? "'%s' is not a process ID" : "no process ID given%s",
			      text ? text : "");
		return false;
	}
	*pid = (pid_t)number;
	return true;
}

/* ---- status ---- */

#define NAME_SIZE 128

enum unit { UNIT_NONE, UNIT_TIME, UNIT_DURATION, UNIT_BYTES };

/* Make words of the JSON name NAME, "settings.cpu_interval_ns", and return the unit that ends it. */
static enum unit label_of(const char *name, char label[NAME_SIZE])
{
	static const struct {
		const char *suffix;
		enum unit unit;
	} units[] = { { "_ms", UNIT_TIME }, { "_ns", UNIT_DURATION }, { "_bytes", UNIT_BYTES } };
	enum unit unit = UNIT_NONE;

	snprintf(label, NAME_SIZE, "%s", name);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (text_has_suffix(label, units[i].suffix)) {
			label[strlen(label) - strlen(units[i].suffix)] = '\0';
			unit = units[i].unit;
		}
	for (char *p = label; *p; p++)
		if (*p == '_' || *p == '.')
			*p = ' ';
	return unit;
}

static const char *number_text(char text[TEXT_NUMBER], double value, enum unit unit)
{
	switch (unit) {
	case UNIT_TIME:
		return value > 0 ? text_local_time(text, value, "%Y-%m-%d %H:%M:%S") : "never";
	case UNIT_DURATION:
		return text_duration(text, value);
	case UNIT_BYTES:
		return text_bytes(text, value);
	case UNIT_NONE:
		break;
	}
	snprintf(text, TEXT_NUMBER, value < 1 << 20 ? "%.8g" : "%.17g", value);
	return text;
}

static void print_value(const char *name, const cJSON *item)
{
	char label[NAME_SIZE], number[TEXT_NUMBER];
	enum unit unit = label_of(name, label);
	const char *value = "off";

	if (cJSON_IsString(item))
		value = *item->valuestring ? item->valuestring : "none";
	else if (cJSON_IsNumber(item))
		value = number_text(number, item->valuedouble, unit);
	else if (cJSON_IsBool(item))
		value = cJSON_IsTrue(item) ? "yes" : "no";
	print_clean("%-32s %s\n", label, value);
}

static void print_object(const cJSON *object, const char *prefix);

/* Print each object of LIST, named by its "name". */
static void print_list(const cJSON *list, const char *prefix, const char *key)
{
	const cJSON *each;
	char name[NAME_SIZE];

	cJSON_ArrayForEach(each, list)
	{
		const cJSON *called = cJSON_GetObjectItemCaseSensitive(each, "name");

		snprintf(name, sizeof(name), "%s%s.", prefix,
			 cJSON_IsString(called) ? called->valuestring : key);
		print_object(each, name);
	}
}

static void print_object(const cJSON *object, const char *prefix)
{
	const cJSON *item;
	char name[NAME_SIZE];

	cJSON_ArrayForEach(item, object)
	{
		const char *key = item->string ? item->string : "";

		snprintf(name, sizeof(name), "%s%s%s", prefix, key,
			 cJSON_IsObject(item) ? "." : "");
		if (cJSON_IsObject(item))
			print_object(item, name);
		else if (cJSON_IsArray(item))
			print_list(item, prefix, key);
		else
			print_value(name, item);
	}
}

/* Parse ANSWER. Returns NULL if anything but white space follows the value: it would be printed too. */
static cJSON *status_parse(struct buf *answer)
{
	const char *text = buf_string(answer);
	cJSON *status = text ? cJSON_ParseWithOpts(text, NULL, true) : NULL;

	if (status && strlen(text) != answer->length) {
		cJSON_Delete(status);
		status = NULL;
	}
	return status;
}

int cmd_status(int argc, char **argv)
{
	struct buf answer = BUF_INIT(LIVE_STATUS_MAX);
	bool json = false;
	const char *which = NULL;
	struct live_request request = { .method = "GET", .path = "/status", .body = "" };
	cJSON *status;
	int err;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) {
			json = true;
		} else if (which || argv[i][0] == '-') {
			message_print("status: unexpected argument '%s'", argv[i]);
			return COMMAND_USAGE;
		} else {
			which = argv[i];
		}
	}
	if (!command_parse_pid(which, &request.pid))
		return COMMAND_USAGE;
	err = live_request_send(&request, &answer);
	status = err ? NULL : status_parse(&answer);
	if (!err && !status) {
		message_print("process %d: the answer is not JSON", request.pid);
		err = -EPROTO;
	} else if (!err && json) {
		print_clean_lines(answer.data, answer.length);
	} else if (!err) {
		print_object(status, "");
	}
	cJSON_Delete(status);
	buf_free(&answer);
	return err ? COMMAND_FAILED : COMMAND_OK;
}

/* ---- start, stop, flush, set ---- */

int cmd_control(int argc, char **argv)
{
	struct buf answer = BUF_INIT(1u << 20);
	char path[32];
	struct live_request request = {
		.method = "POST", .path = path, .body = "", .wait_ns = CONTROL_WAIT_NS
	};
	int err;

	if (argc > 2) {
		message_print("%s takes one process ID only", argv[0]);
		return COMMAND_USAGE;
	}
	if (!command_parse_pid(argv[1], &request.pid))
		return COMMAND_USAGE;
	snprintf(path, sizeof(path), "/%s", argv[0]);
	err = live_request_send(&request, &answer);
	buf_free(&answer);
	return err ? COMMAND_FAILED : COMMAND_OK;
}

/* Append TEXT, percent-encoded for a form. */
static void body_append_escaped(struct buf *body, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    strchr("_.-~", c))
			buf_append(body, text + i, 1);
		else
			buf_printf(body, "%%%02X", c);
	}
}

int cmd_set(int argc, char **argv)
{
	struct buf body = BUF_INIT(65536), answer = BUF_INIT(1u << 20);
	struct live_request request = { .method = "POST",
					.path = "/options",
					.wait_ns = CONTROL_WAIT_NS };
	int err;

	if (!command_parse_pid(argv[1], &request.pid))
		return COMMAND_USAGE;
	if (argc < 3) {
		message_print("no setting given; set KEY=VALUE, like CPU_INTERVAL=10ms");
		return COMMAND_USAGE;
	}
	for (int i = 2; i < argc && !body.err; i++) {
		const char *equals = strchr(argv[i], '=');

		if (!equals) {
			message_print("'%s' is not KEY=VALUE", argv[i]);
			buf_free(&body);
			return COMMAND_USAGE;
		}
		body_append_escaped(&body, argv[i], (size_t)(equals - argv[i]));
		buf_append_string(&body, "=");
		body_append_escaped(&body, equals + 1, strlen(equals + 1));
		buf_append_string(&body, "&");
	}
	request.body = body.err ? NULL : buf_string(&body);
	if (!request.body) {
		message_print("the settings are too long");
		err = -E2BIG;
	} else {
		err = live_request_send(&request, &answer);
	}
	buf_free(&body);
	buf_free(&answer);
	return err ? COMMAND_FAILED : COMMAND_OK;
}
