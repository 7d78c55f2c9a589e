/* What there is to ask for, and what is answered. */
#include "endpoint/routes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/units.h"
#include "endpoint/status.h"

#define TEXT_JSON        "application/json"
#define TEXT_HTML        "text/html; charset=utf-8"
#define TEXT_METRICS     "text/plain; version=0.0.4; charset=utf-8"
#define TEXT_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define BINARY           "application/octet-stream"

#define DEFAULT_SECONDS 10

/* How long the threads' samples are waited for, at most: those that cannot run are not seen. */
#define THREADS_NS       SECONDS(3)
#define THREADS_CHECK_NS MS(20)

struct page {
	const char *path;
	bool is_post;
	uint64_t (*answer)(struct visit *visit, const struct page *page,
			   const struct request *request, struct response *response);
	const char *help;
	enum live_request question; /* of a POST */
	enum metric metric;         /* of a profile */
};

/* In words, where ERR is one of the mailbox's or the session's. */
static void response_set_error(struct response *response, const struct live_call *call, int err)
{
	switch (err) {
	case -ECANCELED:
		response_set_text(response, 503, "the profiler is ending");
		break;
	case -EBUSY:
		response_set_text(response, 503, "%d recordings are being taken already",
				  LIVE_CAPTURES_MAX);
		break;
	case -ESRCH:
		response_set_text(
			response, 409,
			"the profiler is stopped; POST /start, which asprof-agent start PID does, "
			"starts it");
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

static int status_request(struct visit *visit, struct live_call *call, struct response *response)
{
	int err;

	call->question = LIVE_STATUS;
	err = live_send(visit->live, call);
	if (err)
		response_set_error(response, call, err);
	return err;
}

/* One at a time, and large. */
static struct live_call current_call;

static uint64_t handle_status(struct visit *visit, const struct page *page,
			      const struct request *request, struct response *response)
{
	struct status_cost cost;

	(void)page;
	(void)request;
	if (status_request(visit, &current_call, response))
		return 0;
	status_cost(&cost);
	response->type = TEXT_JSON;
	if (status_write_json(&response->body, &current_call.status, &cost))
		response_set_text(response, 500, "out of memory");
	return 0;
}

static uint64_t handle_metrics(struct visit *visit, const struct page *page,
			       const struct request *request, struct response *response)
{
	bool openmetrics = strstr(request->accept, "application/openmetrics-text");
	struct status_cost cost;

	(void)page;
	if (status_request(visit, &current_call, response))
		return 0;
	status_cost(&cost);
	response->type = openmetrics ? TEXT_OPENMETRICS : TEXT_METRICS;
	if (status_write_metrics(&response->body, &current_call.status, &cost, openmetrics))
		response_set_text(response, 500, "out of memory");
	return 0;
}

/* ---- Orders ---- */

static uint64_t handle_command(struct visit *visit, const struct page *page,
			       const struct request *request, struct response *response)
{
	struct live_call *call = &current_call;
	int err;

	(void)request;
	call->question = page->question;
	err = live_send(visit->live, call);
	if (err == -EALREADY)
		response_set_text(response, 409,
				  page->question == LIVE_STOP ? "the profiler is stopped already"
							      : "the profiler runs already");
	else if (err)
		response_set_error(response, call, err);
	else
		response_set_text(response, 200, "ok");
	return 0;
}

/* "NAME=value&…", as in a form, or one on a line; the prefix may be there. */
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
			return response_set_text(response, 413, "too many options at one time");
		/* The name is written to the front, the value behind it. */
		value = name + 64;
		if (room < 128)
			return response_set_text(response, 413, "too many options at one time");
		err = request_next_field(&rest, name, 64, value, room - 64);
		if (err == -ENOENT)
			break;
		if (err)
			return response_set_text(
				response, 400,
				"the body is to be NAME=value, one on a line or with & between");
		used += 64 + strlen(value) + 1;
		if (!strncmp(name, OPTION_PREFIX, prefix))
			name += prefix;
		call->options[call->option_count++] =
			(struct live_option){ .name = name, .value = value };
	}
	if (!call->option_count)
		return response_set_text(response, 400,
					 "no options: the body is to be NAME=value, one on "
					 "a line or with & between");
	return 0;
}

static uint64_t handle_options(struct visit *visit, const struct page *page,
			       const struct request *request, struct response *response)
{
	static char texts[LIVE_TEXT_MAX];

	(void)page;
	if (options_parse(request, texts, &current_call, response))
		return 0;
	return handle_command(visit, &(struct page){ .question = LIVE_OPTIONS }, request, response);
}

/* ---- Recordings ---- */

/* False where the request asks for what cannot be. */
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
		response_set_text(response, 400, "seconds is to be a number up to %d",
				  ROUTES_SECONDS_MAX);
		return false;
	}
	*ns = (uint64_t)(seconds * 1e9);
	return true;
}

static int recording_begin(struct visit *visit, bool anew, struct response *response)
{
	struct live_call *call = &current_call;
	int err = 0;

	visit->fd = fd_raise(memfd_create("asprof-agent", MFD_CLOEXEC));
	if (visit->fd < 0) {
		response_set_text(response, 500, "no file for the recording: %s",
				  strerror(-visit->fd));
		visit->fd = -1;
		return -ENOMEM;
	}
	call->question = LIVE_BEGIN;
	call->fd = visit->fd;
	call->anew = anew;
	err = live_send(visit->live, call);
	if (!err)
		return 0;
	response_set_error(response, call, err);
	close(visit->fd);
	visit->fd = -1;
	return err;
}

/* Whether text is asked for, as Go's profiles have it. */
static bool request_wants_text(const struct request *request)
{
	char text[16];

	return !request_find_field(request->query, "debug", text, sizeof(text)) &&
	       strcmp(text, "0") != 0;
}

static void exchange_set_format(struct visit *visit, const struct request *request)
{
	char form[16];

	visit->wish.form = request_wants_text(request) ? PROFILE_TEXT : PROFILE_PPROF;
	if (!request_find_field(request->query, "form", form, sizeof(form)) && !strcmp(form, "jfr"))
		visit->wish.form = PROFILE_RAW;
	visit->type = visit->wish.form == PROFILE_TEXT ? TEXT_PLAIN : BINARY;
}

/* OPTION_OFF is no interval. */
static int64_t interval_or_zero(uint64_t value)
{
	return value == OPTION_OFF ? 0 : (int64_t)value;
}

static void exchange_set_intervals(struct visit *visit, const struct live_status *status)
{
	visit->wish.configured = (struct settings){
		.cpu_interval_ns = interval_or_zero(status->cpu_interval_ns),
		.wall_interval_ns = interval_or_zero(status->wall_interval_ns),
		.mem_interval = interval_or_zero(status->native_mem_bytes),
	};
}

static uint64_t handle_profile(struct visit *visit, const struct page *page,
			       const struct request *request, struct response *response)
{
	uint64_t ns;

	if (!seconds_parse(request, &ns, response))
		return 0;
	if (status_request(visit, &current_call, response))
		return 0;
	if (page->metric == METRIC_CPU && current_call.status.cpu_interval_ns == OPTION_OFF) {
		response_set_text(response, 403, "CPU time is not sampled: CPU_INTERVAL is off");
		return 0;
	}
	if (page->metric == METRIC_WALL && current_call.status.wall_interval_ns == OPTION_OFF) {
		response_set_text(response, 403,
				  "the wall clock is not sampled: WALL_INTERVAL is off");
		return 0;
	}
	exchange_set_intervals(visit, &current_call.status);
	exchange_set_format(visit, request);
	if (page->metric == METRIC_ANY) {
		bool raw = !strcmp(page->path, "/recording");

		visit->wish.form = raw ? PROFILE_RAW : PROFILE_FLAMEGRAPH;
		visit->type = raw ? BINARY : TEXT_HTML;
	}
	visit->wish.metric = page->metric;
	visit->wish.from_ns = (int64_t)clock_realtime_ns();
	visit->wish.to_ns = visit->wish.from_ns + (int64_t)ns;
	return recording_begin(visit, page->metric != METRIC_CPU, response) ? 0 : ns;
}

static uint64_t handle_heap(struct visit *visit, const struct page *page,
			    const struct request *request, struct response *response)
{
	if (status_request(visit, &current_call, response))
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
				  "NATIVE_MEM, or have asprof-agent set PID NATIVE_MEM=512k"
				: "%s samples native memory, and keeps no table of what lives; "
				  "set " OPTION_PREFIX "NATIVE_MEM_ENGINE=builtin",
			current_call.status.engine);
		return 0;
	}
	exchange_set_intervals(visit, &current_call.status);
	exchange_set_format(visit, request);
	visit->wish.metric = page->metric;
	visit->wish.retained = true;
	if (!recording_begin(visit, false, response))
		routes_resume(visit, response);
	return 0;
}

static uint64_t handle_threads(struct visit *visit, const struct page *page,
			       const struct request *request, struct response *response)
{
	int err;

	(void)page;
	exchange_set_format(visit, request);
	visit->wish.metric = METRIC_WALL;
	visit->wish.threads = true;
	visit->wish.from_ns = (int64_t)clock_realtime_ns();
	visit->wish.to_ns = INT64_MAX;
	visit->threads_until_ns = clock_monotonic_ns() + THREADS_NS;
	if (recording_begin(visit, true, response))
		return 0;
	current_call.question = LIVE_THREADS;
	err = live_send(visit->live, &current_call);
	if (!err || err == -EINPROGRESS)
		return THREADS_CHECK_NS;
	routes_cancel(visit);
	if (err == -ENOTSUP)
		response_set_text(
			response, 501,
			"all threads cannot be sampled at once beside the builtin engine's "
			"native memory; "
			"/debug/pprof/wall?seconds=N can tell of them");
	else
		response_set_error(response, &current_call, err);
	return 0;
}

uint64_t routes_resume(struct visit *visit, struct response *response)
{
	struct live_call *call = &current_call;
	int err;

	call->question = LIVE_THREADS_LEFT;
	if (clock_monotonic_ns() < visit->threads_until_ns &&
	    live_send(visit->live, call) == -EINPROGRESS)
		return THREADS_CHECK_NS;
	call->question = LIVE_END;
	call->fd = visit->fd;
	err = live_send(visit->live, call);
	if (err) {
		response_set_error(response, call, err);
	} else {
		response->type = visit->type;
		err = profile_output_write(&response->body, visit->fd, &visit->wish);
		if (err && err != -ENODATA)
			response_set_text(response, 500, "%s", strerror(-err));
	}
	close(visit->fd);
	visit->fd = -1;
	return 0;
}

void routes_cancel(struct visit *visit)
{
	if (visit->fd < 0)
		return;
	current_call.question = LIVE_CANCEL;
	current_call.fd = visit->fd;
	live_send(visit->live, &current_call);
	close(visit->fd);
	visit->fd = -1;
}

/* ---- All of it ---- */

static uint64_t handle_index(struct visit *visit, const struct page *page,
			     const struct request *request, struct response *response);

static const struct page pages[] = {
	{ "/debug/pprof/", false, handle_index, "this page", 0, 0 },
	{ "/debug/pprof/heap", false, handle_heap, "native memory: what is retained now", 0,
	  METRIC_LIVE },
	{ "/debug/pprof/allocs", false, handle_heap,
	  "native memory: what was allocated since the sampling began", 0, METRIC_MALLOC },
	{ "/debug/pprof/profile", false, handle_profile, "CPU time, of ?seconds=10", 0,
	  METRIC_CPU },
	{ "/debug/pprof/wall", false, handle_profile, "the wall clock, of ?seconds=10", 0,
	  METRIC_WALL },
	{ "/debug/pprof/threads", false, handle_threads, "one stack of each thread, now", 0, 0 },
	{ "/debug/pprof/goroutine", false, handle_threads,
	  "the same, by the name that scrapers of Go's profiles ask for", 0, 0 },
	{ "/flamegraph", false, handle_profile, "CPU time as a flame graph, of ?seconds=10", 0,
	  METRIC_ANY },
	{ "/recording", false, handle_profile, "all that is recorded, as JFR, of ?seconds=10", 0,
	  METRIC_ANY },
	{ "/status", false, handle_status, "how the profiler is", 0, 0 },
	{ "/metrics", false, handle_metrics, "the same for Prometheus", 0, 0 },
	{ "/start", true, handle_command, "take samples again", LIVE_START, 0 },
	{ "/stop", true, handle_command, "take none, until the next start", LIVE_STOP, 0 },
	{ "/flush", true, handle_command, "report now", LIVE_FLUSH, 0 },
	{ "/options", true, handle_options, "change settings: NAME=value, one on a line", 0, 0 },
};

static uint64_t handle_index(struct visit *visit, const struct page *page,
			     const struct request *request, struct response *response)
{
	struct buf *body = &response->body;

	(void)visit;
	(void)page;
	(void)request;
	response->type = TEXT_HTML;
	buf_append_string(body,
			  "<!doctype html><title>asprof-agent</title><h1>asprof-agent</h1><ul>\n");
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		const char *path = pages[i].path;

		if (pages[i].is_post)
			buf_printf(body, "<li>POST %s: %s\n", path, pages[i].help);
		else
			buf_printf(body, "<li><a href=\"%s\">%s</a>: %s\n", path, path,
				   pages[i].help);
	}
	buf_append_string(body, "</ul><p>With ?debug=1 a profile is text, with ?form=jfr the "
				"recording that it is made of.\n");
	return 0;
}

static const struct page *route_find(const char *path)
{
	if (!strcmp(path, "/") || !strcmp(path, "/debug/pprof"))
		path = "/debug/pprof/";
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (!strcmp(pages[i].path, path))
			return &pages[i];
	return NULL;
}

/* Of the same length of time however much of it is right. */
static bool token_equals(const char *a, const char *b)
{
	size_t length = strlen(a);
	unsigned char difference = length != strlen(b);

	for (size_t i = 0; i < length && b[i]; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return !difference;
}

/* "127.0.0.1:6060", "[::1]:6060", "localhost": no name that a page's author could have led here. */
static bool host_is_loopback(const char *host)
{
	unsigned char binary[sizeof(struct in6_addr)];
	char name[64];
	size_t length;

	if (host[0] == '[')
		return true;
	length = strcspn(host, ":");
	if (!length || length >= sizeof(name))
		return !length;
	memcpy(name, host, length);
	name[length] = '\0';
	return !strcmp(name, "localhost") || inet_pton(AF_INET, name, binary) == 1;
}

/* What a browser sends for a page that somebody else has written is none of the user's own. */
static bool may_ask(const struct visit *visit, const struct request *request,
		    struct response *response)
{
	static const char bearer[] = "Bearer ";

	if (visit->token) {
		if (!strncmp(request->authorization, bearer, strlen(bearer)) &&
		    token_equals(visit->token, request->authorization + strlen(bearer)))
			return true;
		response_set_text(response, 401,
				  "the token of " OPTION_PREFIX "LISTEN_TOKEN is needed: "
				  "Authorization: Bearer TOKEN");
		return false;
	}
	if (visit->is_tcp && (request->from_page || !host_is_loopback(request->host))) {
		response_set_text(response, 403, "requests of web pages are refused");
		return false;
	}
	return true;
}

uint64_t routes_handle(struct visit *visit, const struct request *request,
		       struct response *response)
{
	const struct page *page = route_find(request->target);
	bool is_post = request->method == REQUEST_POST;

	if (!may_ask(visit, request, response))
		return 0;
	if (!page) {
		response_set_text(response, 404,
				  "there is no such page; GET /debug/pprof/ names those "
				  "that there are");
		return 0;
	}
	if (request->method == REQUEST_OTHER || is_post != page->is_post) {
		response_set_text(response, 405, "%s takes %s", page->path,
				  page->is_post ? "POST" : "GET");
		response->allow = page->is_post ? "POST" : "GET, HEAD";
		return 0;
	}
	return page->answer(visit, page, request, response);
}
