/* Routes of the live endpoint. */
#include "endpoint/routes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/shared.h"
#include "core/memory/account.h"
#include "core/text/loopback.h"
#include "core/units.h"
#include "endpoint/status.h"

#define TEXT_JSON        "application/json"
#define TEXT_METRICS     "text/plain; version=0.0.4; charset=utf-8"
#define TEXT_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define BINARY           "application/octet-stream"

#define DEFAULT_SECONDS 10

/* Time limit for the threads' samples: a thread that cannot run is not sampled. */
#define THREADS_NS       SECONDS(3)
#define THREADS_CHECK_NS MS(20)

/* Interval of the checks for a full recording. */
#define FULL_CHECK_NS MS(250)

/* Temporary intervals end so long after the recording, if this thread does not end them: it may be busy. */
#define LEASE_MORE_NS SECONDS(30)

struct route {
	const char *path;
	bool is_post;
	uint64_t (*handle)(struct exchange *exchange, const struct route *route,
			   const struct request *request, struct response *response);
	const char *help;
	enum live_request request; /* for a POST */
	enum metric metric;        /* for a profile */
};

/* Set RESPONSE for an error of CALL. */
static void response_set_error(struct response *response, const struct live_call *call, int err)
{
	switch (err) {
	case -ECANCELED:
		response_set_text(response, 503, "the profiler is ending");
		break;
	case -EBUSY:
		response_set_text(response, 503, "%d recordings are already running",
				  LIVE_CAPTURES_MAX);
		break;
	case -ESRCH:
		response_set_text(
			response, 409,
			"the profiler is stopped; POST /start or asprof-agent start PID starts it");
		break;
	case -EINVAL:
		response_set_text(response, 400, "%s", call->problem);
		break;
	default:
		response_set_text(response, 500, "%s",
				  *call->problem ? call->problem : strerror(-err));
		break;
	}
}

static int status_request(struct exchange *exchange, struct live_call *call,
			  struct response *response)
{
	int err;

	call->request = LIVE_STATUS;
	err = live_send(exchange->live, call);
	if (err)
		response_set_error(response, call, err);
	return err;
}

/* Static because it is large. The endpoint handles one request at a time. */
static struct live_call current_call;

static uint64_t handle_status(struct exchange *exchange, const struct route *route,
			      const struct request *request, struct response *response)
{
	struct status_cost cost;

	(void)route;
	(void)request;
	if (status_request(exchange, &current_call, response))
		return 0;
	status_measure_cost(&cost);
	response->type = TEXT_JSON;
	if (status_write_json(&response->body, &current_call.status, &cost))
		response_set_text(response, 500, "out of memory");
	return 0;
}

static uint64_t handle_metrics(struct exchange *exchange, const struct route *route,
			       const struct request *request, struct response *response)
{
	bool openmetrics = strstr(request->accept, "application/openmetrics-text");
	struct status_cost cost;

	(void)route;
	if (status_request(exchange, &current_call, response))
		return 0;
	status_measure_cost(&cost);
	response->type = openmetrics ? TEXT_OPENMETRICS : TEXT_METRICS;
	if (status_write_metrics(&response->body, &current_call.status, &cost, openmetrics))
		response_set_text(response, 500, "out of memory");
	return 0;
}

/* ---- Commands ---- */

static uint64_t handle_command(struct exchange *exchange, const struct route *route,
			       const struct request *request, struct response *response)
{
	struct live_call *call = &current_call;
	int err;

	(void)request;
	call->request = route->request;
	err = live_send(exchange->live, call);
	if (err == -EALREADY)
		response_set_text(response, 409,
				  route->request == LIVE_STOP ? "the profiler is already stopped"
							      : "the profiler already runs");
	else if (err)
		response_set_error(response, call, err);
	else
		response_set_text(response, 200, "ok");
	return 0;
}

/* The answer describes the memory that is to be unmapped when the agent has ended. */
static uint64_t handle_detach(struct exchange *exchange, const struct route *route,
			      const struct request *request, struct response *response)
{
	const struct attached_range *range = &shared->attached;

	if (handle_command(exchange, route, request, response) || response->status != 200)
		return 0;
	response_set_text(response, 200, ATTACHED_RANGE_FORMAT, range->start, range->bytes,
			  range->region, range->region_bytes, range->areas, range->area_blocks,
			  range->block_areas, range->area_bytes);
	return 0;
}

/* Parse the options in the body of REQUEST into CALL: "NAME=value&…" as in a form, or one per line. The prefix of the
 * names is optional. TEXTS receives names and values. Returns 0, or the status of the error in RESPONSE. */
static int options_parse(const struct request *request, char *texts, struct live_call *call,
			 struct response *response)
{
	const char *rest = request->body;
	size_t used = 0;
	int err;

	call->option_count = 0;
	for (;;) {
		char *name = texts + used, *value;
		size_t room = LIVE_TEXT_MAX - used, prefix = strlen(OPTION_PREFIX);

		if (call->option_count == LIVE_OPTIONS_MAX || room < 2)
			return response_set_text(response, 413, "too many options in one request");
		/* The name has 64 bytes; the value follows. */
		value = name + 64;
		if (room < 128)
			return response_set_text(response, 413, "too many options in one request");
		err = request_next_field(&rest, name, 64, value, room - 64);
		if (err == -ENOENT)
			break;
		if (err)
			return response_set_text(
				response, 400,
				"the body must be NAME=value, one per line or separated by &");
		used += 64 + strlen(value) + 1;
		if (!strncmp(name, OPTION_PREFIX, prefix))
			name += prefix;
		call->options[call->option_count++] =
			(struct live_option){ .name = name, .value = value };
	}
	if (!call->option_count)
		return response_set_text(response, 400,
					 "no options: the body must be NAME=value, one per line or "
					 "separated by &");
	return 0;
}

/* Static like current_call, whose options are here. */
static char option_texts[LIVE_TEXT_MAX];

static uint64_t handle_options(struct exchange *exchange, const struct route *route,
			       const struct request *request, struct response *response)
{
	(void)route;
	if (options_parse(request, option_texts, &current_call, response))
		return 0;
	return handle_command(exchange, &(struct route){ .request = LIVE_OPTIONS }, request,
			      response);
}

/* ---- Recordings ---- */

/* Parse the field "seconds". Returns false for an invalid value, with the error in RESPONSE. */
static bool seconds_parse(const struct request *request, uint64_t *ns, struct response *response)
{
	char text[32], *end;
	int err = request_find_field(request->query, "seconds", text, sizeof(text));
	double seconds = DEFAULT_SECONDS;

	if (!err) {
		seconds = strtod(text, &end);
		err = end == text || *end ? -EINVAL : 0;
	} else if (err == -ENOENT) {
		err = 0;
	}
	if (err || !(seconds >= 0.01) || seconds > ROUTES_SECONDS_MAX) {
		response_set_text(response, 400, "seconds must be a number from 0.01 to %d",
				  ROUTES_SECONDS_MAX);
		return false;
	}
	*ns = (uint64_t)(seconds * 1e9);
	return true;
}

/* Start a recording, with the options of current_call. Returns 0, or -errno with the error in RESPONSE. */
static int recording_begin_with_options(struct exchange *exchange, bool finishes_chunks,
					struct response *response)
{
	struct live_call *call = &current_call;
	int err = 0;

	exchange->fd = fd_raise(memfd_create("asprof-agent", MFD_CLOEXEC));
	if (exchange->fd < 0) {
		response_set_text(response, 500, "cannot create a file for the recording: %s",
				  strerror(-exchange->fd));
		exchange->fd = -1;
		return -ENOMEM;
	}
	call->request = LIVE_BEGIN;
	call->fd = exchange->fd;
	call->finishes_chunks = finishes_chunks;
	call->full = &exchange->is_full;
	err = live_send(exchange->live, call);
	if (!err)
		return 0;
	response_set_error(response, call, err);
	close(exchange->fd);
	exchange->fd = -1;
	return err;
}

/* After an error the file may hold a part of a chunk, which was not counted. */
static void exchange_close(struct exchange *exchange)
{
	struct stat st;

	if (!fstat(exchange->fd, &st))
		memory_add_capture(-(int64_t)st.st_size);
	close(exchange->fd);
	exchange->fd = -1;
}

static int recording_begin(struct exchange *exchange, bool finishes_chunks,
			   struct response *response)
{
	current_call.option_count = 0;
	return recording_begin_with_options(exchange, finishes_chunks, response);
}

/* True if the request has the field debug, which selects text in Go's profiles, too. */
static bool request_wants_text(const struct request *request)
{
	char text[16];

	return !request_find_field(request->query, "debug", text, sizeof(text)) &&
	       strcmp(text, "0") != 0;
}

static void exchange_set_format(struct exchange *exchange, const struct request *request)
{
	char form[16];

	exchange->options.format = request_wants_text(request) ? PROFILE_TEXT : PROFILE_PPROF;
	if (!request_find_field(request->query, "form", form, sizeof(form)) && !strcmp(form, "jfr"))
		exchange->options.format = PROFILE_RAW;
	exchange->type = exchange->options.format == PROFILE_TEXT ? TEXT_PLAIN : BINARY;
}

/* An interval of struct settings; 0 stands for OPTION_OFF. */
static int64_t interval_or_zero(uint64_t value)
{
	return value == OPTION_OFF ? 0 : (int64_t)value;
}

static void exchange_set_intervals(struct exchange *exchange, const struct live_status *status)
{
	exchange->options.configured = (struct settings){
		.cpu_interval_ns = interval_or_zero(status->cpu_interval_ns),
		.wall_interval_ns = interval_or_zero(status->wall_interval_ns),
		.mem_interval = interval_or_zero(status->native_mem_bytes),
	};
}

/* Return the time until the next check of the recording in nanoseconds; 0 if it is complete. */
static uint64_t recording_wait_ns(const struct exchange *exchange)
{
	uint64_t now = clock_monotonic_ns();

	if (now >= exchange->until_ns || atomic_load(&exchange->is_full))
		return 0;
	return exchange->until_ns - now < FULL_CHECK_NS ? exchange->until_ns - now : FULL_CHECK_NS;
}

/* Check that METRIC is sampled, by current_call.status. Otherwise the error is in RESPONSE. */
static bool metric_is_sampled(enum metric metric, struct response *response)
{
	const struct live_status *status = &current_call.status;
	bool is_off = (metric == METRIC_CPU && status->cpu_interval_ns == OPTION_OFF) ||
		      (metric == METRIC_WALL && status->wall_interval_ns == OPTION_OFF) ||
		      (metric == METRIC_MALLOC && status->native_mem_bytes == OPTION_OFF);

	if (is_off)
		response_set_text(response, 403, "%s",
				  metric == METRIC_CPU
					  ? "CPU time is not sampled: CPU_INTERVAL is off"
				  : metric == METRIC_WALL
					  ? "the wall clock is not sampled: WALL_INTERVAL is off"
					  : "native memory is not sampled: NATIVE_MEM is off");
	return !is_off;
}

static void exchange_set_period(struct exchange *exchange, uint64_t ns)
{
	exchange->options.from_ns = (int64_t)clock_realtime_ns();
	exchange->options.to_ns = exchange->options.from_ns + (int64_t)ns;
	exchange->from_ns = clock_monotonic_ns();
	exchange->until_ns = exchange->from_ns + ns;
}

static uint64_t handle_profile(struct exchange *exchange, const struct route *route,
			       const struct request *request, struct response *response)
{
	uint64_t ns;

	if (!seconds_parse(request, &ns, response))
		return 0;
	if (status_request(exchange, &current_call, response))
		return 0;
	if (!metric_is_sampled(route->metric, response))
		return 0;
	exchange_set_intervals(exchange, &current_call.status);
	exchange_set_format(exchange, request);
	if (route->metric == METRIC_ANY) {
		bool raw = !strcmp(route->path, "/recording");

		exchange->options.format = raw ? PROFILE_RAW : PROFILE_FLAMEGRAPH;
		exchange->type = raw ? BINARY : TEXT_HTML;
	}
	exchange->options.metric = route->metric;
	exchange_set_period(exchange, ns);
	return recording_begin(exchange, route->metric != METRIC_CPU, response)
		       ? 0
		       : recording_wait_ns(exchange);
}

/* The metric of a profile: that of the first requested interval. */
static enum metric options_metric(const struct live_call *call)
{
	if (!strcmp(call->options[0].name, "CPU_INTERVAL"))
		return METRIC_CPU;
	return strcmp(call->options[0].name, "WALL_INTERVAL") ? METRIC_MALLOC : METRIC_WALL;
}

/* Record at the intervals in the body, which apply until the response or the end of the connection. */
static uint64_t handle_profile_at(struct exchange *exchange, const struct route *route,
				  const struct request *request, struct response *response)
{
	struct live_call *call = &current_call;
	uint64_t ns;

	(void)route;
	if (!seconds_parse(request, &ns, response) ||
	    options_parse(request, option_texts, call, response))
		return 0;
	exchange_set_format(exchange, request);
	exchange->options.metric = options_metric(call);
	call->until_ns = clock_monotonic_ns() + ns + LEASE_MORE_NS;
	if (recording_begin_with_options(exchange, true, response))
		return 0;
	snprintf(response->note, sizeof(response->note), "%.*s", (int)sizeof(response->note) - 1,
		 call->problem);
	exchange_set_period(exchange, ns);
	if (status_request(exchange, call, response) ||
	    !metric_is_sampled(exchange->options.metric, response)) {
		routes_cancel(exchange);
		return 0;
	}
	exchange_set_intervals(exchange, &call->status);
	return recording_wait_ns(exchange);
}

static uint64_t handle_heap(struct exchange *exchange, const struct route *route,
			    const struct request *request, struct response *response)
{
	if (status_request(exchange, &current_call, response))
		return 0;
	if (!current_call.status.running) {
		response_set_error(response, &current_call, -ESRCH);
		return 0;
	}
	if (!current_call.status.memory) {
		response_set_text(
			response, 403,
			current_call.status.native_mem_bytes == OPTION_OFF
				? "native memory is not sampled; set " OPTION_PREFIX
				  "NATIVE_MEM, or run asprof-agent set PID NATIVE_MEM=512k"
				: "%s samples native memory without a table of retained blocks; "
				  "set " OPTION_PREFIX "NATIVE_MEM_ENGINE=builtin",
			current_call.status.engine);
		return 0;
	}
	exchange_set_intervals(exchange, &current_call.status);
	exchange_set_format(exchange, request);
	exchange->options.metric = route->metric;
	exchange->options.is_retained = true;
	if (!recording_begin(exchange, false, response))
		routes_resume(exchange, response);
	return 0;
}

static uint64_t handle_threads(struct exchange *exchange, const struct route *route,
			       const struct request *request, struct response *response)
{
	int err;

	(void)route;
	exchange_set_format(exchange, request);
	exchange->options.metric = METRIC_WALL;
	exchange->options.is_per_thread = true;
	exchange->options.from_ns = (int64_t)clock_realtime_ns();
	exchange->options.to_ns = INT64_MAX;
	exchange->threads_until_ns = clock_monotonic_ns() + THREADS_NS;
	if (recording_begin(exchange, true, response))
		return 0;
	current_call.request = LIVE_THREADS;
	err = live_send(exchange->live, &current_call);
	if (!err || err == -EINPROGRESS)
		return THREADS_CHECK_NS;
	routes_cancel(exchange);
	if (err == -ENOTSUP)
		response_set_text(response, 501,
				  "all threads cannot be sampled at once while the builtin engine "
				  "samples native memory; use /debug/pprof/wall?seconds=N");
	else
		response_set_error(response, &current_call, err);
	return 0;
}

/* The finished recording becomes the body, in the requested format. */
static void recording_respond(struct exchange *exchange, struct response *response)
{
	int err;

	response->type = exchange->type;
	if (atomic_load(&exchange->is_full))
		snprintf(response->truncated, sizeof(response->truncated),
			 "the recording reached its size limit after %.1f s",
			 (double)(clock_monotonic_ns() - exchange->from_ns) / 1e9);
	if (exchange->options.format == PROFILE_RAW) {
		err = response_set_file(response, exchange->fd);
		exchange->fd = -1;
	} else {
		err = profile_output_write(&response->body, exchange->fd, &exchange->options);
	}
	if (err == -EFBIG)
		response_set_text(response, 500,
				  "the response exceeds %zu bytes; request fewer seconds, or "
				  "?form=jfr",
				  RESPONSE_MAX);
	else if (err == -ENOMEM)
		response_set_text(response, 500,
				  "the agent's memory is full; request fewer seconds or ?form=jfr, "
				  "or raise ASPROF_AGENT_MEMORY");
	else if (err && err != -ENODATA)
		response_set_text(response, 500, "%s", strerror(-err));
}

uint64_t routes_resume(struct exchange *exchange, struct response *response)
{
	struct live_call *call = &current_call;
	uint64_t wait_ns = recording_wait_ns(exchange);
	int err;

	if (wait_ns)
		return wait_ns;
	call->request = LIVE_THREADS_LEFT;
	if (clock_monotonic_ns() < exchange->threads_until_ns &&
	    live_send(exchange->live, call) == -EINPROGRESS)
		return THREADS_CHECK_NS;
	call->request = LIVE_END;
	call->fd = exchange->fd;
	err = live_send(exchange->live, call);
	if (err)
		response_set_error(response, call, err);
	else
		recording_respond(exchange, response);
	if (exchange->fd >= 0)
		exchange_close(exchange);
	return 0;
}

void routes_cancel(struct exchange *exchange)
{
	if (exchange->fd < 0)
		return;
	current_call.request = LIVE_CANCEL;
	current_call.fd = exchange->fd;
	live_send(exchange->live, &current_call);
	exchange_close(exchange);
}

/* ---- Table of routes ---- */

static uint64_t handle_index(struct exchange *exchange, const struct route *route,
			     const struct request *request, struct response *response);

static const struct route routes[] = {
	{ "/debug/pprof/", false, handle_index, "this page", 0, 0 },
	{ "/debug/pprof/heap", false, handle_heap, "native memory that is retained now", 0,
	  METRIC_LIVE },
	{ "/debug/pprof/allocs", false, handle_heap,
	  "native memory that was allocated since sampling began", 0, METRIC_MALLOC },
	{ "/debug/pprof/profile", false, handle_profile, "CPU time during ?seconds=10", 0,
	  METRIC_CPU },
	{ "/debug/pprof/wall", false, handle_profile, "wall time during ?seconds=10", 0,
	  METRIC_WALL },
	{ "/debug/pprof/threads", false, handle_threads, "the current stack of each thread", 0, 0 },
	{ "/debug/pprof/goroutine", false, handle_threads,
	  "the same, by the name that scrapers of Go profiles use", 0, 0 },
	{ "/flamegraph", false, handle_profile, "flame graph of CPU time during ?seconds=10", 0,
	  METRIC_ANY },
	{ "/recording", false, handle_profile, "JFR recording of all events during ?seconds=10", 0,
	  METRIC_ANY },
	{ "/status", false, handle_status, "status of the profiler", 0, 0 },
	{ "/metrics", false, handle_metrics, "the same as metrics for Prometheus", 0, 0 },
	{ "/start", true, handle_command, "resume profiling", LIVE_START, 0 },
	{ "/stop", true, handle_command, "pause profiling until the next start", LIVE_STOP, 0 },
	{ "/detach", true, handle_detach, "remove the agent that `attach` has put into the program",
	  LIVE_DETACH, 0 },
	{ "/flush", true, handle_command, "deliver a report now", LIVE_FLUSH, 0 },
	{ "/profile", true, handle_profile_at,
	  "profile during ?seconds=10 at intervals: CPU_INTERVAL=10ms, WALL_INTERVAL, NATIVE_MEM",
	  0, 0 },
	{ "/options", true, handle_options, "change settings: NAME=value, one per line", 0, 0 },
};

static uint64_t handle_index(struct exchange *exchange, const struct route *route,
			     const struct request *request, struct response *response)
{
	struct buf *body = &response->body;

	(void)exchange;
	(void)route;
	(void)request;
	response->type = TEXT_HTML;
	buf_append_string(body,
			  "<!doctype html><title>asprof-agent</title><h1>asprof-agent</h1><ul>\n");
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		const char *path = routes[i].path;

		if (routes[i].is_post)
			buf_printf(body, "<li>POST %s: %s\n", path, routes[i].help);
		else
			buf_printf(body, "<li><a href=\"%s\">%s</a>: %s\n", path, path,
				   routes[i].help);
	}
	buf_append_string(body,
			  "</ul><p>?debug=1 selects text, and ?form=jfr the recording itself.\n");
	return 0;
}

static const struct route *route_find(const char *path)
{
	if (!strcmp(path, "/") || !strcmp(path, "/debug/pprof"))
		path = "/debug/pprof/";
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (!strcmp(routes[i].path, path))
			return &routes[i];
	return NULL;
}

/* Compare two strings in constant time. */
static bool token_equals(const char *a, const char *b)
{
	size_t length = strlen(a);
	unsigned char difference = length != strlen(b);

	for (size_t i = 0; i < length && b[i]; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return !difference;
}

/* True for a loopback HOST such as "127.0.0.1:6060", "[::1]:6060" or "localhost". Old clients send none, which is
 * accepted. The author of a web page can resolve any other name to this address. Browsers omit Sec-Fetch-Site for
 * addresses that are not loopback, such as 0.0.0.0, although that one leads to this server. */
static bool host_is_loopback(const char *host)
{
	bool six = host[0] == '[';
	const char *begin = host + six, *end = begin + strcspn(begin, six ? "]" : ":");
	const char *port = six && *end ? end + 1 : end;
	char name[64];

	if (!*host)
		return true;
	if ((size_t)(end - begin) >= sizeof(name) || (*port && *port != ':') ||
	    (*port && port[1 + strspn(port + 1, "0123456789")]))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(end - begin), begin);
	if (six)
		return *end && text_is_loopback(AF_INET6, name);
	return !strcasecmp(name, "localhost") || text_is_loopback(AF_INET, name);
}

/* True if a page of another site, or of another port of this machine, embeds or links the requested path. Browsers send
 * the header, other programs do not. */
static bool request_is_cross_site(const struct request *request)
{
	return request->has_fetch_site && strcmp(request->fetch_site, "none") &&
	       strcmp(request->fetch_site, "same-origin");
}

/* True if the client may use the endpoint; otherwise the error is in RESPONSE. A Unix socket is checked by
 * listener_admits(), and no web page can reach it. */
static bool request_is_allowed(const struct exchange *exchange, const struct request *request,
			       struct response *response)
{
	static const char bearer[] = "Bearer ";

	if (!exchange->is_tcp)
		return true;
	if (request_is_cross_site(request) ||
	    (!exchange->token && (request->has_origin || !host_is_loopback(request->host)))) {
		response_set_text(response, 403, "requests from web pages are refused");
		return false;
	}
	if (exchange->token &&
	    (strncmp(request->authorization, bearer, strlen(bearer)) ||
	     !token_equals(exchange->token, request->authorization + strlen(bearer)))) {
		response_set_text(response, 401,
				  "the token of " OPTION_PREFIX "LISTEN_TOKEN is required: "
				  "Authorization: Bearer TOKEN");
		return false;
	}
	return true;
}

uint64_t routes_handle(struct exchange *exchange, const struct request *request,
		       struct response *response)
{
	const struct route *route = route_find(request->target);
	bool is_post = request->method == REQUEST_POST;

	if (!request_is_allowed(exchange, request, response))
		return 0;
	if (!route) {
		response_set_text(response, 404, "no such page; GET /debug/pprof/ lists the pages");
		return 0;
	}
	if (request->method == REQUEST_OTHER || is_post != route->is_post) {
		response_set_text(response, 405, "%s requires %s", route->path,
				  route->is_post ? "POST" : "GET");
		response->allow = route->is_post ? "POST" : "GET, HEAD";
		return 0;
	}
	if (route->is_post && exchange->is_tcp && !exchange->token) {
		response_set_text(
			response, 403,
			"%s over TCP requires a token: start the program with " OPTION_PREFIX
			"LISTEN_TOKEN=TOKEN, and send Authorization: Bearer TOKEN",
			route->path);
		return 0;
	}
	return route->handle(exchange, route, request, response);
}
