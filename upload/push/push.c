/* Sends aggregated reports to a server by HTTP. */
#include "upload/push/push.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/show_url.h"
#include "upload/aws/sigv4.h"
#include "upload/http/url.h"
#include "upload/queue/origin.h"
#include "upload/queue/pairs.h"

#define CONNECT_MS      5000
#define WHOLE_MS        60000
#define PROBE_MS        15000
#define SLOW_BYTES_A_MS 20 /* a slow connection gets more time for a large body */

/* Before compression: the limit of OTLP servers by its specification, and more than Pyroscope's
 * own limit. */
#define BODY_MAX (64u << 20)

/* A server that asks for a longer pause is asked again after this time. */
#define RETRY_MAX_S 3600

/* A piece that fails for an ambiguous reason is retried for this time. By default Pyroscope
 * refuses older profiles. */
#define UNSURE_MAX_S 3600

#define CAUSE_MAX      80
#define LINE_MAX_BYTES 768
#define ANSWER_SHOWN   200

/* After so many single samples that were too large, and none that was accepted, the report is refused. */
#define REFUSED_SAMPLES_MAX 32

/* Progress of one report. */
struct progress {
	/* Identity of the report. */
	uint64_t end_ms, length;
	uint32_t unique;
	pid_t pid;

	struct report_begun at; /* position in the samples of the kind; STEP samples per request */
	uint32_t dropped_samples; /* of the current try: samples that are too large alone */
	uint32_t maybe_twice;     /* messages of the current try */
	int64_t unsure_since;     /* seconds since 1970; 0: no ambiguous failure */
	bool is_accepted;         /* a part of it */
	bool is_refused;          /* a part of it, finally */
};

/* Held while a report is aggregated or encoded: the destinations take turns, because each needs
 * several megabytes for it. Not held while a request is sent. */
static pthread_mutex_t conversion_lock = PTHREAD_MUTEX_INITIALIZER;

struct push {
	struct reporter reporter;
	const struct push_form *form;
	struct push_settings settings;
	const struct config *config;
	char *destination;
	struct environment environment;
	struct aws aws; /* to send, and to identify the machine */
	struct host host;
	struct progress progress;
	/* The pause that the server asked for, in seconds since 1970. If the clock is set back to
	 * before its start, it ends. */
	int64_t paused_at, not_before;
	char logged_cause[CAUSE_MAX];
	atomic_bool stop;
};

static void push_log_error(struct push *push, const char *cause, const char *line)
{
	if (!strncmp(push->logged_cause, cause, sizeof(push->logged_cause) - 1))
		return;
	snprintf(push->logged_cause, sizeof(push->logged_cause), "%s", cause);
	log_error("no delivery to %s: %s", push->form->name, line);
}

static void push_log_recovery(struct push *push)
{
	if (push->logged_cause[0])
		log_warn("deliveries to %s work again", push->form->name);
	push->logged_cause[0] = '\0';
}

/* The printable part of a response, on one line. */
static void push_show_response(char out[ANSWER_SHOWN + 1], struct http_response *response)
{
	snprintf(out, ANSWER_SHOWN + 1, "%s", http_text(response));
	for (char *p = out; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
	for (size_t length = strlen(out); length && out[length - 1] == '?'; length--)
		out[length - 1] = '\0';
}

/* Advice for the operator. */
static const char *push_advice(long status)
{
	switch (status) {
	case 401:
	case 403:
	case 407:
		return "; check the credentials in the headers";
	case 404:
	case 405:
		return "; check the URL";
	default:
		return status >= 300 && status < 400 ? "; set the URL to the target of the redirect"
						     : "";
	}
}

static void push_log_refusal(struct push *push, struct http_response *response, int err)
{
	char cause[CAUSE_MAX], line[LINE_MAX_BYTES], shown[SHOW_URL_SIZE], text[ANSWER_SHOWN + 1];

	push_show_response(text, response);
	snprintf(cause, sizeof(cause), "%ld", response->status);
	snprintf(line, sizeof(line), "%s answers %ld%s%s%s%s", show_url(shown, push->settings.url),
		 response->status, text[0] ? ": " : "", text, push_advice(response->status),
		 err == -EBADMSG ? "; this part of a report is dropped" : "");
	push_log_error(push, cause, line);
}

static void push_log_no_response(struct push *push, int err, const struct http_response *response)
{
	char cause[CAUSE_MAX], line[LINE_MAX_BYTES], shown[SHOW_URL_SIZE];

	if (err == -ECANCELED)
		return;
	snprintf(cause, sizeof(cause), "error %d", -err);
	snprintf(line, sizeof(line), "%s: %s", show_url(shown, push->settings.url),
		 response->problem[0] ? response->problem : strerror(-err));
	push_log_error(push, cause, line);
}

/* WHAT failed with ERR before anything was sent; a retry may succeed. */
static void push_log_unsent(struct push *push, const char *what, int err)
{
	char cause[CAUSE_MAX], line[LINE_MAX_BYTES];

	snprintf(cause, sizeof(cause), "%s error %d", what, -err);
	snprintf(line, sizeof(line), "cannot %s: %s%s", what, strerror(-err),
		 err == -ENOMEM ? "; increase " OPTION_PREFIX "MEMORY" : "");
	push_log_error(push, cause, line);
}

int push_judge(long status, bool is_500_final)
{
	if (status >= 200 && status < 300)
		return 0;
	switch (status) {
	case 413:
		return -EFBIG;
	case 401:
	case 403:
	case 404:
	case 405:
	case 407:
		return -EACCES;
	case 408:
	case 425:
	case 429:
	case 502:
	case 503:
	case 504:
		return -EAGAIN;
	default:
		if (status >= 500 && !is_500_final)
			return -EAGAIN;
		return status < 400 ? -EACCES : -EBADMSG;
	}
}

#define HEADER_NAME_SIZE 128

/* Copy KEY in lower case to NAME. */
static void header_name(char name[HEADER_NAME_SIZE], const char *key)
{
	size_t i;

	for (i = 0; key[i] && i + 1 < HEADER_NAME_SIZE; i++)
		name[i] = (char)(key[i] >= 'A' && key[i] <= 'Z' ? key[i] | 0x20 : key[i]);
	name[i] = '\0';
}

static int push_add_header(void *arg, const char *key, const char *value)
{
	char name[HEADER_NAME_SIZE];

	header_name(name, key);
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~")])
		return -EINVAL;
	return http_request_header(arg, name, "%s", value);
}

/* Append the server's base URL without its final '/'; the path adds one. */
static int push_append_base(struct buf *out, const char *url)
{
	size_t length = strlen(url);

	while (length && url[length - 1] == '/')
		length--;
	return buf_append(out, url, length);
}

/* True while an ambiguous failure is recent enough to be transient. */
static bool push_may_be_transient(struct push *push)
{
	int64_t now = push->aws.now();

	if (!push->progress.unsure_since)
		push->progress.unsure_since = now;
	return now - push->progress.unsure_since < UNSURE_MAX_S;
}

/* True if STATUS leaves open whether the server accepted the message: a gateway or the server's
 * front end may have answered. 503 means that it did not. */
static bool status_is_ambiguous(long status)
{
	return status == 422 || (status >= 500 && status != 503);
}

/* The server may have accepted the next message without a response. */
static void push_mark_doubt(struct push *push)
{
	if (push->progress.at.doubt == DOUBT_NONE)
		push->progress.at.doubt = DOUBT_NEXT;
}

/* Log a response and decide what follows. Returns 0 or -errno. */
static int push_handle_response(struct push *push, struct http_response *response)
{
	int err = push_judge(response->status, push->form->is_500_final);
	char words[ANSWER_SHOWN + 1], line[LINE_MAX_BYTES];

	if (err == -EAGAIN && response->retry_after > 0) {
		push->paused_at = push->aws.now();
		push->not_before =
			push->paused_at +
			(response->retry_after < RETRY_MAX_S ? response->retry_after : RETRY_MAX_S);
	}
	if (response->status == 422 && push->form->is_final && !push->form->is_final(response) &&
	    push_may_be_transient(push))
		err = -EAGAIN;
	if (response->status == 400 && push->form->is_too_large &&
	    push->form->is_too_large(response))
		err = -EFBIG;
	if (err == -EAGAIN && status_is_ambiguous(response->status))
		push_mark_doubt(push);
	if (err && err != -EFBIG)
		push_log_refusal(push, response, err);
	if (!err && push->form->complains &&
	    push->form->complains(response, words, sizeof(words))) {
		snprintf(line, sizeof(line), "taken in part: %s", words);
		push_log_error(push, "taken in part", line);
	} else if (!err) {
		push_log_recovery(push);
	}
	return err;
}

/* True if the server's decision is known, even if ERR reports that the body is incomplete or too
 * long. An accepted piece must not be sent again, and neither must one that was too large; after a
 * gateway's error the piece is in doubt. */
static bool response_is_known(int err, const struct http_response *response)
{
	return !err || response->status;
}

static int push_make(struct push *push, const struct push_piece *piece,
		     struct http_request *request, struct buf *body)
{
	int err;

	pthread_mutex_lock(&conversion_lock);
	err = push->form->make(piece, request, body);
	pthread_mutex_unlock(&conversion_lock);
	return err;
}

/* Send one piece. Returns 0 or -errno. */
static int push_send_piece(struct push *push, const struct push_piece *piece)
{
	struct http_request request = HTTP_REQUEST_INIT("POST", CONNECT_MS, WHOLE_MS);
	struct http_response response = HTTP_RESPONSE_INIT;
	struct buf body = BUF_INIT(BODY_MAX);
	int err = push_append_base(&request.url, push->settings.url);

	if (!err)
		err = push_make(push, piece, &request, &body);
	if (!err && push->settings.headers)
		err = pairs_each(push->settings.headers, push->form->decode_headers,
				 push_add_header, &request);
	if (err == -EINVAL || err == -E2BIG) {
		push_log_error(push, "headers", "cannot send the configured headers");
		err = -EACCES;
	} else if (err && err != -ENODATA && err != -EFBIG) {
		push_log_unsent(push, "encode a report", err);
	}
	if (err)
		goto out;
	request.body = body.data;
	request.body_length = body.length;
	request.timeout_ms += body.length / SLOW_BYTES_A_MS;
	request.keep_connection = true;
	err = push->aws.http->send(push->aws.http, &request, &response);
	if (response.unanswered)
		push_mark_doubt(push);
	if (response_is_known(err, &response))
		err = push_handle_response(push, &response);
	else
		push_log_no_response(push, err, &response);
	if (!err)
		log_debug("%s took %zu bytes", push->form->name, body.length);
out:
	http_request_free(&request);
	http_response_free(&response);
	buf_free(&body);
	return err;
}

int push_probe(const struct push_form *form, const struct push_settings *settings,
	       struct http *http, struct http_response *response)
{
	struct http_request request = HTTP_REQUEST_INIT("POST", CONNECT_MS, PROBE_MS);
	int err = push_append_base(&request.url, settings->url);

	if (!err)
		err = buf_append_string(&request.url, form->path);
	if (!err)
		err = http_request_header(&request, "content-type", "%s", form->content_type);
	if (!err && settings->headers)
		err = pairs_each(settings->headers, form->decode_headers, push_add_header,
				 &request);
	request.body = "";
	if (!err)
		err = http->send(http, &request, response);
	http_request_free(&request);
	return err;
}

/* True if A is further in the report than B. */
static bool progress_is_further(const struct report_begun *a, const struct report_begun *b)
{
	return a->kind > b->kind || (a->kind == b->kind && a->from > b->from);
}

/* True if AT is a valid position in a report of COUNT samples. */
static bool progress_is_valid(const struct push *push, const struct report_begun *at,
			      uint32_t count)
{
	return at->count == count && at->kind < push->form->kinds && at->from <= count &&
	       at->step && at->doubt <= DOUBT_ALL;
}

/* Find the position in this report, which has COUNT samples: from this process, from the spool's
 * note, or the beginning. With an invalid position the whole report is sent, and all of it is in
 * doubt. */
static void push_find_progress(struct push *push, const struct report *report, uint32_t count)
{
	static const struct report_begun nothing;
	const struct report_begun *begun = report->begun ? report->begun : &nothing;
	struct progress *progress = &push->progress;
	uint64_t length = report_length(report);
	bool elsewhere;

	if (progress->end_ms != report->end_ms || progress->unique != report->unique ||
	    progress->pid != report->pid || progress->length != length)
		*progress = (struct progress){ .end_ms = report->end_ms,
					       .length = length,
					       .unique = report->unique,
					       .pid = report->pid,
					       .at = { .step = UINT32_MAX, .count = count } };
	progress->dropped_samples = progress->maybe_twice = 0;
	elsewhere = memcmp(begun, &nothing, sizeof(nothing)) != 0 &&
		    !progress_is_further(&progress->at, begun);
	if (elsewhere)
		progress->at = *begun;
	if (elsewhere ? !progress_is_valid(push, begun, count) : progress->at.count != count)
		progress->at = (struct report_begun){ .step = UINT32_MAX,
						      .count = count,
						      .doubt = DOUBT_ALL };
}

/* Save the position for the process that continues. */
static void push_save_progress(const struct push *push, const struct report *report)
{
	const struct report_begun *at = &push->progress.at;

	if (report->begun && (at->kind || at->from || at->doubt != DOUBT_NONE))
		*report->begun = *at;
}

int64_t push_start_ns(const struct push_piece *piece)
{
	const struct report *report = piece->report;
	double share = (double)piece->from / (double)piece->profile->count;
	uint64_t start_ms = report->start_ms;

	if (report->end_ms > report->start_ms)
		start_ms += (uint64_t)(share * (double)(report->end_ms - report->start_ms));
	return (int64_t)(start_ms * 1000000 + ((uint64_t)report->unique + piece->from) % 1000000);
}

/* The piece was too large: halve it, down to one sample, which is dropped. */
static void progress_reduce(struct progress *progress, uint32_t sent)
{
	if (sent > 1) {
		progress->at.step = (sent + 1) / 2;
	} else {
		progress->at.from++;
		progress->dropped_samples++;
	}
}

/* True if the server has refused a part, or each sample that it got. */
static bool progress_is_refused(const struct progress *progress)
{
	return progress->is_refused || (progress->dropped_samples && !progress->is_accepted);
}

/* Count an accepted piece that the server may have twice. */
static void push_count_doubt(struct push *push)
{
	struct report_begun *at = &push->progress.at;

	if (at->doubt == DOUBT_NONE)
		return;
	push->reporter.maybe_twice++;
	push->progress.maybe_twice++;
	if (at->doubt == DOUBT_NEXT)
		at->doubt = DOUBT_NONE;
}

/* Note the result ERR of a piece: it was accepted, refused, or empty. Returns 0 if the report continues after it; otherwise
 * ERR. */
static int push_note_result(struct push *push, int err)
{
	struct progress *progress = &push->progress;

	/* After an ambiguous refusal, each of the other pieces would need as much time. */
	if (err == -EBADMSG && !progress->unsure_since) {
		progress->is_refused = true;
		if (progress->at.doubt == DOUBT_NEXT)
			progress->at.doubt = DOUBT_NONE;
	} else if (!err) {
		progress->is_accepted = true;
		push_count_doubt(push);
	} else if (err != -ENODATA) {
		return err;
	}
	progress->unsure_since = 0;
	return 0;
}

static int push_send_report(struct push *push, struct push_piece *piece)
{
	struct report_begun *at = &push->progress.at;
	uint32_t count = piece->profile->count;
	int err = 0;

	for (; at->kind < push->form->kinds; at->kind++, at->from = 0, at->step = UINT32_MAX)
		while (at->from < count) {
			piece->kind = at->kind;
			piece->from = at->from;
			piece->to = count - at->from > at->step ? at->from + at->step : count;
			err = push_send_piece(push, piece);
			if (err == -EFBIG) {
				if (push->progress.dropped_samples >= REFUSED_SAMPLES_MAX &&
				    !push->progress.is_accepted)
					return -EBADMSG;
				progress_reduce(&push->progress, piece->to - piece->from);
				continue;
			}
			err = push_note_result(push, err);
			if (err)
				return err;
			at->from = piece->to;
		}
	return progress_is_refused(&push->progress) ? -EBADMSG : 0;
}

/* Initialization that needs the network; runs in the delivery thread. */
static int push_prepare(struct push *push, const struct report *report)
{
	int err = aws_open_http(&push->aws);

	if (!err)
		origin_find_host(&push->host, &push->aws, push->config->metadata, report);
	return err;
}

/* Log incomplete aggregation, once for each report. */
static void push_log_losses(const struct push *push, const struct report_profile *added)
{
	if (added->problem[0])
		log_warn("a report is delivered to %s in part: %s", push->form->name,
			 added->problem);
	if (added->profile.stacks_cut)
		log_info("%" PRIu64 " stacks of a report to %s are merged",
			 added->profile.stacks_cut, push->form->name);
}

/* Log the samples that this try has dropped, and messages that the server may count twice. The next try may be of
 * another report. */
static void push_log_try(const struct push *push)
{
	if (push->progress.dropped_samples)
		log_error("%s refuses requests with a single sample: %" PRIu32
			  " samples of a report are dropped",
			  push->form->name, push->progress.dropped_samples);
	if (push->progress.maybe_twice)
		log_warn("%s may count %" PRIu32
			 " of a report's messages twice: its response to the first was lost",
			 push->form->name, push->progress.maybe_twice);
}

static int push_deliver(struct reporter *reporter, const struct report *report)
{
	struct push *push = (struct push *)reporter;
	struct report_profile added;
	struct identity identity;
	struct push_piece piece = { .report = report,
				    .profile = &added.profile,
				    .libraries = &added.libraries,
				    .identity = &identity };
	int64_t now = push->aws.now();
	int err;

	if (push->paused_at <= now && now < push->not_before)
		return -EAGAIN;
	err = push_prepare(push, report);
	if (err)
		return err;
	err = identity_of(&identity, report, push->config, &push->environment, &push->host);
	if (err)
		goto out_identity;
	pthread_mutex_lock(&conversion_lock);
	err = report_profile_read(&added, report, push->config, push->form->threads);
	pthread_mutex_unlock(&conversion_lock);
	if (err == -EBADMSG)
		log_error("a report of %" PRIu64 " bytes is not delivered to %s: %s",
			  report_length(report), push->form->name, added.problem);
	else if (err)
		push_log_unsent(push, "aggregate a report", err);
	if (!err) {
		push_find_progress(push, report, added.profile.count);
		err = push_send_report(push, &piece);
		push_log_try(push);
		if (err)
			push_save_progress(push, report);
		else
			push_log_losses(push, &added);
	}
	report_profile_free(&added);
out_identity:
	identity_free(&identity);
	return err;
}

static void push_cancel(struct reporter *reporter)
{
	atomic_store(&((struct push *)reporter)->stop, true);
}

static void push_close(struct reporter *reporter)
{
	struct push *push = (struct push *)reporter;

	if (push->aws.http)
		push->aws.http->close(push->aws.http);
	host_free(&push->host);
	aws_free(&push->aws);
	free(push->destination);
	free(push);
}

/* Headers that select whose data it is, as X-Scope-OrgID does. The credentials in "authorization" are not among
 * them: new ones must not orphan the waiting reports. */
struct selection {
	uint64_t hash; /* a sum, so that the order does not matter; values may be secret */
	bool any;
};

static int selection_add(void *arg, const char *key, const char *value)
{
	struct selection *selection = arg;
	struct buf text = BUF_INIT(BODY_MAX);
	char name[HEADER_NAME_SIZE], hash[SIGV4_HASH_SIZE];
	int err;

	header_name(name, key);
	if (!strcmp(name, "authorization"))
		return 0;
	err = buf_append_string(&text, name);
	if (!err)
		err = buf_append_string(&text, ":");
	if (!err)
		err = buf_append_string(&text, value);
	if (!err)
		err = sigv4_hash(hash, text.data, text.length);
	buf_free(&text);
	if (err)
		return err;
	hash[16] = '\0';
	selection->hash += strtoull(hash, NULL, 16);
	selection->any = true;
	return 0;
}

/* Set PUSH's destination: without the headers another process with this URL would deliver the report to its own
 * tenant. */
static int push_set_destination(struct push *push)
{
	char shown[SHOW_URL_SIZE], headers[32] = "";
	struct selection selection = { 0 };
	int err = 0;

	if (push->settings.headers)
		err = pairs_each(push->settings.headers, push->form->decode_headers, selection_add,
				 &selection);
	if (err)
		return err;
	if (selection.any)
		snprintf(headers, sizeof(headers), " headers %016" PRIx64, selection.hash);
	if (asprintf(&push->destination, "%s %s%s", push->form->name,
		     show_url(shown, push->settings.url), headers) < 0) {
		push->destination = NULL;
		return -ENOMEM;
	}
	push->reporter.destination = push->destination;
	return 0;
}

int push_open_with(struct reporter **out, const struct push_form *form,
		   const struct push_settings *settings, const struct config *config,
		   char *const *environment, struct http *http, int64_t (*now)(void))
{
	char shown[SHOW_URL_SIZE];
	struct push *push;
	int err;

	if (!url_is_base(settings->url)) {
		log_error("cannot deliver to %s: %s is not an http or https URL without user, "
			  "query and fragment",
			  form->name, show_url(shown, settings->url));
		return -EINVAL;
	}
	push = calloc(1, sizeof(*push));
	if (!push)
		return -ENOMEM;
	push->settings = *settings;
	push->environment.entries = environment;
	push->reporter = (struct reporter){ .name = form->name,
					    .deliver = push_deliver,
					    .close = push_close,
					    .cancel = push_cancel };
	push->form = form;
	push->config = config;
	push->aws.http = http;
	push->aws.environment = &push->environment;
	push->aws.now = now;
	push->aws.stop = &push->stop;
	err = push_set_destination(push);
	if (err) {
		free(push);
		return err;
	}
	*out = &push->reporter;
	return 0;
}

int push_open(struct reporter **out, const struct push_form *form,
	      const struct push_settings *settings, const struct config *config)
{
	return push_open_with(out, form, settings, config, environment_at_start(), NULL, aws_clock);
}
