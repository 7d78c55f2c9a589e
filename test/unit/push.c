/* upload/push, upload/pyroscope, upload/otlp: a server that the test plays accepts or refuses
 * requests, or finds them too large. Each part of a report arrives once, and each response has its
 * right effect. */
#include "upload/push/push.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/fd.h"
#include "core/log.h"
#include "engine/collect/label_chunk.h"
#include "engine/jfr/jfr_write.h"
#include "profile/encode/proto_read.h"
#include "test/fixtures/suite.h"
#include "upload/otlp/otlp.h"
#include "upload/pyroscope/pyroscope.h"
#include "upload/queue/pairs.h"

#define FIXTURE  "test/fixtures/jfr/native.jfr"
#define SENT_MAX 4096

static struct config config;
static int64_t now_s;

/* Accept it; then no response, 200 and no more, 200 and more than is read, 200 at the second time;
 * or 502 of a gateway that lost it, and the same with a body that breaks off. */
enum { LOST = -2, BROKEN = -3, LONG = -4, AGAIN = -5, GATEWAY = -6, GATEWAY_BROKEN = -7 };

static struct {
	long plan
		[64]; /* statuses, 0: accept, -1: no response, or one of those below; then all are accepted */
	size_t planned;
	int64_t retry_after;
	size_t body_max; /* of the uncompressed body; 0: none */
	long too_large;  /* the status for a larger body; 0: 413 */
	const char *body;
	unsigned int sent, taken;
	double total; /* of the first value of all accepted samples */
	/* The maximum of one request: bytes before compression, samples; and locations of one
	 * sample. */
	size_t largest, samples, deepest;
	uint64_t times[64];        /* start times of accepted parts, in nanoseconds */
	unsigned int requests[64]; /* the number of each of those, from 0 */
	size_t time_count;
	char url[4096], header[256];
	uint8_t ids[SENT_MAX][16]; /* of OTLP's accepted profiles */
	unsigned int id_count;
} server;

static int64_t tell_now(void)
{
	return now_s;
}

static uint8_t *unpack(const struct http_request *request, size_t *length)
{
	static uint8_t out[16 << 20];
	z_stream stream = { .next_in = (uint8_t *)(uintptr_t)request->body,
			    .avail_in = (uInt)request->body_length,
			    .next_out = out,
			    .avail_out = sizeof(out) };

	ck_assert_int_eq(inflateInit2(&stream, MAX_WBITS | 16), Z_OK);
	ck_assert_int_eq(inflate(&stream, Z_FINISH), Z_STREAM_END);
	*length = sizeof(out) - stream.avail_out;
	inflateEnd(&stream);
	return out;
}

static struct proto_reader within(const struct proto_field *field)
{
	return (struct proto_reader){ field->data, field->data + field->length };
}

/* The first number of a packed list. */
static uint64_t first_of(const struct proto_field *field)
{
	uint64_t value = 0;

	for (size_t i = 0; i < field->length; i++) {
		value |= (uint64_t)(field->data[i] & 0x7f) << 7 * i;
		if (!(field->data[i] & 0x80))
			break;
	}
	return value;
}

static void add_sample(const struct proto_field *sample, unsigned int values)
{
	struct proto_reader reader = within(sample);
	struct proto_field field;

	while (proto_next(&reader, &field)) {
		size_t count = 0;

		if (field.number == values)
			server.total += (double)first_of(&field);
		for (size_t i = 0; field.number == 1 && i < field.length; i++)
			count += !(field.data[i] & 0x80);
		if (count > server.deepest)
			server.deepest = count;
	}
}

static void take_time(uint64_t ns)
{
	if (server.time_count == sizeof(server.times) / sizeof(server.times[0]))
		return;
	server.requests[server.time_count] = server.sent - 1;
	server.times[server.time_count++] = ns;
}

static void take_profile(const struct proto_field *profile)
{
	struct proto_reader reader = within(profile);
	struct proto_field field;
	size_t samples = 0;

	while (proto_next(&reader, &field)) {
		if (field.number == 2) {
			add_sample(&field, 4);
			samples++;
		}
		if (field.number == 3)
			take_time(field.value);
		if (field.number == 7) {
			ck_assert_uint_eq(field.length, 16);
			ck_assert_uint_lt(server.id_count, SENT_MAX);
			memcpy(server.ids[server.id_count++], field.data, 16);
		}
	}
	if (samples > server.samples)
		server.samples = samples;
}

/* ExportProfilesServiceRequest, ResourceProfiles, ScopeProfiles: down to each Profile. */
static void take_otlp(struct proto_reader reader, int depth)
{
	static const unsigned int path[] = { 1, 2, 2 };
	struct proto_field field;

	while (proto_next(&reader, &field)) {
		if (field.number != path[depth])
			continue;
		if (depth == 2)
			take_profile(&field);
		else
			take_otlp(within(&field), depth + 1);
	}
}

static void take(const uint8_t *body, size_t length)
{
	struct proto_reader reader = { body, body + length };
	struct proto_field field;
	size_t samples = 0;

	server.taken++;
	if (length > server.largest)
		server.largest = length;
	if (!strstr(server.url, "/ingest")) {
		take_otlp(reader, 0);
		return;
	}
	while (proto_next(&reader, &field))
		if (field.number == 2) {
			add_sample(&field, 2);
			samples++;
		} else if (field.number == 9) {
			take_time(field.value);
		}
	if (samples > server.samples)
		server.samples = samples;
}

static int answer(struct http *http, const struct http_request *request,
		  struct http_response *response)
{
	size_t length;
	uint8_t *body = unpack(request, &length);
	long status = server.sent < sizeof(server.plan) / sizeof(server.plan[0])
			      ? server.plan[server.sent]
			      : 0;

	(void)http;
	server.sent++;
	snprintf(server.url, sizeof(server.url), "%.*s", (int)request->url.length,
		 (const char *)request->url.data);
	for (size_t i = 0; i < request->header_count; i++)
		if (!strcmp(request->headers[i].name, "x-scope-orgid"))
			snprintf(server.header, sizeof(server.header), "%s",
				 request->headers[i].value);
	if (status == -1)
		return -ECONNREFUSED;
	if (status < -1)
		take(body, length);
	if (status == LOST || status == AGAIN)
		response->unanswered = true;
	if (status == LOST)
		return -EIO;
	if (status < -1)
		response->status = status == GATEWAY || status == GATEWAY_BROKEN ? 502 : 200;
	if (status < -1)
		return status == BROKEN || status == GATEWAY_BROKEN ? -EIO
		       : status == LONG                             ? -EFBIG
								    : 0;
	if (!status)
		status = !server.body_max || length <= server.body_max ? 200
			 : server.too_large                            ? server.too_large
								       : 413;
	if (status == 200)
		take(body, length);
	response->status = status;
	response->retry_after = server.retry_after;
	return buf_append_string(&response->body, server.body ? server.body : "");
}

static void close_http(struct http *http)
{
	(void)http;
}

static struct http http = { .send = answer, .close = close_http };
static char *const environment[] = { "POD_NAME=p", "OTEL_SERVICE_NAME=shop",
				     "OTEL_RESOURCE_ATTRIBUTES=a.b=c%2Cd,service.name=no,x=",
				     NULL };
static struct reporter *reporter;
static int recording;

static void setup(void)
{
	memset(&server, 0, sizeof(server));
	now_s = 1000000000;
	config = (struct config){ .profiling_group = "group",
				  .metadata = "none",
				  .tags = "team=blue,version=3",
				  .cpu_interval_ns = 1000000,
				  .wall_interval_ns = 10000000,
				  .native_mem_bytes = OPTION_OFF };
	recording = open(FIXTURE, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(recording, 0);
	ck_assert_int_eq(log_open(LOG_ERROR, "/dev/null"), 0);
}

static void teardown(void)
{
	close(recording);
	if (reporter)
		reporter->close(reporter);
	reporter = NULL;
}

static void begin(const struct push_form *form, const char *headers)
{
	static struct push_settings settings;

	settings = (struct push_settings){ "http://server:4040/base/", headers };
	if (reporter)
		reporter->close(reporter);
	ck_assert_int_eq(
		push_open_with(&reporter, form, &settings, &config, environment, &http, tell_now),
		0);
}

static struct report the_report(uint64_t end_ms)
{
	struct stat file;

	ck_assert_int_eq(fstat(recording, &file), 0);
	return (struct report){ .parts = { { recording, 0, (uint64_t)file.st_size } },
				.part_count = 1,
				.start_ms = end_ms - 1000,
				.end_ms = end_ms,
				.unique = 7,
				.pid = 42,
				.executable = "prog" };
}

static int deliver(uint64_t end_ms)
{
	struct report report = the_report(end_ms);

	return reporter->deliver(reporter, &report);
}

static const struct push_form *const forms[] = { &pyroscope_form, &otlp_form };

/* What one server accepts of one report, without failures. */
static double whole(const struct push_form *form)
{
	double total;

	begin(form, NULL);
	ck_assert_int_eq(deliver(5000), 0);
	total = server.total;
	ck_assert(total > 0);
	memset(&server, 0, sizeof(server));
	return total;
}

START_TEST(sends_all)
{
	struct report report = the_report(1500000000999);
	struct buf name = BUF_INIT(4096);
	struct identity identity;
	const struct environment copy = { environment };
	struct host host = { .kind = HOST_UNKNOWN };

	begin(forms[_i], "X-Scope-OrgID=a%20b");
	ck_assert_int_eq(reporter->deliver(reporter, &report), 0);
	ck_assert_uint_gt(server.taken, 0);
	ck_assert(server.total > 0);
	ck_assert_str_eq(server.header, _i ? "a b" : "a%20b");
	if (_i)
		ck_assert_str_eq(server.url, "http://server:4040/base/v1development/profiles");
	else
		ck_assert_ptr_nonnull(
			strstr(server.url, "http://server:4040/base/ingest?name=shop%7B"));
	ck_assert_int_eq(identity_of(&identity, &report, &config, &copy, &host), 0);
	ck_assert_str_eq(identity_get(&identity, "a.b"), "c,d");
	ck_assert_str_eq(identity_get(&identity, "service.version"), "3");
	ck_assert_int_eq(pyroscope_name(&name, &identity), 0);
	ck_assert_ptr_nonnull(strstr(buf_string(&name), "shop{a_b=c_d,team=blue,version=3,"));
	ck_assert_ptr_nonnull(strstr(buf_string(&name), "pid=42,executable=prog}"));
	ck_assert_ptr_null(strstr(strstr(buf_string(&name), "version=3") + 1, "version="));
	identity_free(&identity);
	buf_free(&name);
}
END_TEST

/* With any refusals in between, each part is accepted once. */
START_TEST(goes_on_where_it_was)
{
	double total = whole(forms[_i]);
	unsigned int tries = 1;

	for (size_t i = 0; i < 9; i += 2)
		server.plan[i] = i % 4 ? -1 : 503;
	begin(forms[_i], NULL);
	while (deliver(5000))
		ck_assert_uint_lt(tries++, 20);
	ck_assert_uint_gt(tries, 1);
	ck_assert_msg(server.total == total, "%f of %f", server.total, total);
	while (deliver(6000))
		ck_assert_uint_lt(tries++, 20);
	ck_assert_msg(server.total == 2 * total, "another report was not sent");
}
END_TEST

static bool is_twice(void)
{
	for (unsigned int i = 0; i < server.id_count; i++)
		for (unsigned int j = 0; j < i; j++)
			if (!memcmp(server.ids[i], server.ids[j], 16))
				return true;
	return false;
}

START_TEST(splits_what_is_too_large)
{
	double total = whole(forms[_i]);

	server.body_max = 1500;
	server.plan[4] = 503; /* in the middle of it */
	begin(forms[_i], NULL);
	ck_assert_int_eq(deliver(5000), -EAGAIN);
	ck_assert_int_eq(deliver(5000), 0);
	ck_assert_uint_gt(server.taken, 2);
	ck_assert_msg(server.total == total, "%f of %f", server.total, total);
	ck_assert(!is_twice());
}
END_TEST

/* As OpenTelemetry's collector reports it: a Status with the text of Go's reader. Another 400 is
 * not retried. */
START_TEST(splits_what_a_collector_finds_too_large)
{
	double total = whole(&otlp_form);

	server.body_max = 1500;
	server.too_large = 400;
	server.body = "\x08\x03\x12\x1chttp: request body too large";
	begin(&otlp_form, NULL);
	ck_assert_int_eq(deliver(5000), 0);
	ck_assert_uint_gt(server.taken, 2);
	ck_assert_msg(server.total == total, "%f of %f", server.total, total);
	ck_assert(!is_twice());
	server.body = "\x08\x03\x12\x05wrong";
	ck_assert_int_eq(deliver(6000), -EBADMSG);
}
END_TEST

static const struct {
	const char *one, *other;
	bool are_same;
} header_pairs[] = {
	{ NULL, NULL, true },
	{ "X-Scope-OrgID=a", "X-Scope-OrgID=a", true },
	{ "X-Scope-OrgID=a", "X-Scope-OrgID=b", false },
	{ "X-Scope-OrgID=a", NULL, false },
	{ "X-Scope-OrgID=a", "X-Other=a", false },
	{ "A=1,B=2", "b=2,a=1", true },
	{ "A=1,B=2", "A=2,B=1", false },
	/* New credentials deliver what waits. */
	{ "Authorization=Bearer secret", "authorization=Bearer other", true },
	{ "Authorization=Bearer secret", NULL, true },
	{ "Cookie=secret", "Cookie=other", false },
};

/* Another process on the same spool delivers a report only as the same tenant. */
START_TEST(a_destination_is_a_tenants)
{
	const struct push_form *form = forms[_i & 1];
	size_t pair = (size_t)_i / 2;
	char *one;

	begin(form, header_pairs[pair].one);
	one = strdup(reporter->destination);
	ck_assert_ptr_nonnull(one);
	begin(form, header_pairs[pair].other);
	ck_assert_msg(!strcmp(one, reporter->destination) == header_pairs[pair].are_same, "%s, %s",
		      one, reporter->destination);
	ck_assert_ptr_null(strstr(one, "secret"));
	free(one);
}
END_TEST

#define MANY_CHUNKS 4
#define MANY_STACKS 10000
#define SOME_STACKS 1000
#define SECOND      UINT64_C(1000000000) /* in ticks, too */

/* Each address is another function. */
static int name_width;

static int name_many(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		     struct jfr_frame_name *out)
{
	static char names[MANY_STACKS + 8][72];

	(void)context;
	(void)is_return;
	ck_assert_uint_le(count, sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < count; i++) {
		snprintf(names[i], sizeof(names[i]), "f%0*zx", name_width, (size_t)pcs[i]);
		out[i] = (struct jfr_frame_name){ .class_name = "app",
						  .method_name = names[i],
						  .type = JFR_FRAME_NATIVE };
	}
	return 0;
}

static const char *own_interval = "1000000"; /* NULL: the chunks have none */

/* A recording whose chunks have STACKS samples each, all of them of two functions but the last,
 * which has DEPTH frames. */
static void record_many(size_t stacks, size_t depth)
{
	static uintptr_t deep[1024];
	struct jfr_writer *w = NULL;

	close(recording);
	recording = memfd_create("many", MFD_CLOEXEC);
	ck_assert_int_ge(recording, 0);
	ck_assert_int_eq(jfr_writer_open(&w, recording, 0), 0);
	for (size_t i = 0; i < depth; i++)
		deep[i] = 16 + 16 * (i % 2);
	for (uint64_t c = 0; c < MANY_CHUNKS; c++) {
		uint64_t ns = (1700000000 + c) * SECOND, ticks = (c + 1) * SECOND;

		ck_assert_int_eq(jfr_chunk_begin(w, ns, ticks), 0);
		if (own_interval)
			jfr_setting(w, ticks, "interval", own_interval);
		for (uintptr_t i = 0; i < stacks; i++) {
			uintptr_t pcs[] = { (c * stacks + i + 2) * 16, 16 };

			jfr_execution_sample(w, ticks + i, 42, jfr_stack(w, pcs, 2, false),
					     JFR_STATE_DEFAULT);
		}
		if (c == MANY_CHUNKS - 1)
			jfr_execution_sample(w, ticks + stacks, 42,
					     jfr_stack(w, deep, depth, false), JFR_STATE_DEFAULT);
		ck_assert_int_eq(
			jfr_chunk_end(w, ns + SECOND, ticks + SECOND, name_many, NULL, NULL), 0);
	}
	jfr_writer_close(w);
}

/* A large report, with names of WIDTH, which is more than one receiver accepts at a time. With
 * short names there are too many samples, with long ones too many bytes. */
static void deliver_many(const struct push_form *form, int width)
{
	name_width = width;
	record_many(MANY_STACKS, 1010);
	begin(form, NULL);
	ck_assert_int_eq(deliver(5000), 0);
	ck_assert_uint_gt(server.taken, 2);
	ck_assert_uint_le(server.samples, 16000);
	ck_assert_uint_le(server.largest, 1u << 20);
}

/* Data that Pyroscope would refuse is not sent in that form. */
START_TEST(keeps_to_what_pyroscope_takes)
{
	deliver_many(&pyroscope_form, _i ? 64 : 0);
	ck_assert_uint_eq(server.deepest, 1000);
	ck_assert_msg(server.total == MANY_CHUNKS * MANY_STACKS + 1, "%f", server.total);
	ck_assert_uint_eq(server.time_count, server.taken);
	for (size_t i = 0; i < server.time_count; i++) {
		ck_assert(server.times[i] >= 4000000000 && server.times[i] < 5000000000);
		/* Two with the same millisecond would be taken for the same. */
		ck_assert(!i || server.times[i] / 1000000 > server.times[i - 1] / 1000000);
	}
}
END_TEST

/* The limits of a receiver with its defaults. */
START_TEST(keeps_to_what_otlp_receivers_take)
{
	deliver_many(&otlp_form, _i ? 64 : 0);
	/* Nanoseconds, at the setting's interval. */
	ck_assert_msg(server.total == (MANY_CHUNKS * MANY_STACKS + 1) * 1e6, "%f", server.total);
	ck_assert(!is_twice());
}
END_TEST

/* The intervals are not those of this process's configuration, but those of the report's own label
 * chunk. */
START_TEST(weighs_a_report_as_it_was_made)
{
	int labels = memfd_create("labels", MFD_CLOEXEC);
	struct report report;

	own_interval = NULL;
	name_width = 0;
	record_many(SOME_STACKS, 10);
	own_interval = "1000000";
	begin(&otlp_form, NULL);
	ck_assert_int_eq(deliver(5000), 0);
	ck_assert_msg(server.total == (MANY_CHUNKS * SOME_STACKS + 1) * 1e6, "%f", server.total);
	server.total = 0;
	report = the_report(6000);
	report.sampling.interval_ns = 3000000;
	ck_assert_int_eq(label_chunk_write(labels, &report), 0);
	if (_i) { /* in one file, as from a spool */
		ck_assert_int_ge(lseek(recording, 0, SEEK_END), 0);
		ck_assert_int_eq(
			fd_copy(recording, labels, 0, (uint64_t)lseek(labels, 0, SEEK_END)), 0);
		report = the_report(6000);
	} else {
		report.parts[report.part_count++] =
			(struct report_part){ .fd = labels,
					      .length = (uint64_t)lseek(labels, 0, SEEK_END) };
	}
	ck_assert_int_eq(reporter->deliver(reporter, &report), 0);
	ck_assert_msg(server.total == (MANY_CHUNKS * SOME_STACKS + 1) * 3e6, "%f", server.total);
	close(labels);
}
END_TEST

/* A receiver that keeps one profile per series and time loses no part of a report. The report may
 * have no duration by its clock, or a negative one. */
START_TEST(no_two_parts_have_one_time)
{
	struct report report;
	double total;

	name_width = 0;
	record_many(SOME_STACKS, 10);
	begin(forms[_i / 2], NULL);
	report = the_report(5000);
	ck_assert_int_eq(reporter->deliver(reporter, &report), 0);
	total = server.total;
	memset(&server, 0, sizeof(server));
	server.body_max = 40 * SOME_STACKS;
	report.start_ms = report.end_ms + (uint64_t)(_i % 2 * 1000);
	report.unique = 999999; /* and its parts are a nanosecond apart after that */
	ck_assert_int_eq(reporter->deliver(reporter, &report), 0);
	ck_assert_msg(server.total == total, "%f of %f", server.total, total);
	ck_assert_uint_gt(server.taken, 2);
	ck_assert_uint_eq(server.time_count, server.taken);
	for (size_t i = 0; i < server.time_count; i++) {
		ck_assert_uint_eq(server.times[i] / 1000000, report.start_ms);
		for (size_t j = 0; j < i; j++)
			ck_assert_uint_ne(server.times[i], server.times[j]);
	}
}
END_TEST

/* A part that is sent again after a lost response has the same time. */
START_TEST(sends_again_what_it_sent)
{
	uint64_t times[64];
	unsigned int third;

	name_width = 0;
	record_many(SOME_STACKS, 10);
	server.body_max = 40 * SOME_STACKS;
	begin(forms[_i], NULL);
	ck_assert_int_eq(deliver(5000), 0);
	ck_assert_uint_gt(server.time_count, 4);
	memcpy(times, server.times, sizeof(times));
	third = server.requests[2];
	ck_assert_uint_lt(third, sizeof(server.plan) / sizeof(server.plan[0]));
	memset(&server, 0, sizeof(server));
	server.body_max = 40 * SOME_STACKS;
	server.plan[third] = LOST;
	begin(forms[_i], NULL);
	ck_assert_int_eq(deliver(5000), -EIO);
	ck_assert_int_eq(deliver(5000), 0);
	ck_assert_mem_eq(server.times, times, 3 * sizeof(times[0]));
	ck_assert_mem_eq(server.times + 3, times + 2, (server.time_count - 3) * sizeof(times[0]));
}
END_TEST

static const struct {
	long plan[4];
	uint64_t maybe_twice;
	unsigned int more; /* than one attempt */
} doubts[] = {
	{ { 0 }, 0, 0 },
	{ { -1, 503, 429, -1 }, 0, 4 },
	{ { LOST }, 1, 1 },
	{ { LOST, LOST, 503, GATEWAY }, 1, 4 }, /* one message, however often */
	{ { GATEWAY }, 1, 1 },
	{ { GATEWAY_BROKEN }, 1, 1 },
	{ { 504 }, 1, 1 },
	{ { BROKEN }, 0, 0 },
	{ { LONG }, 0, 0 },
	{ { AGAIN }, 1, 0 },
};

/* A complete message that is sent again without a response to the first is counted when it is
 * accepted. An accepted message is not sent again. */
START_TEST(counts_what_may_be_twice)
{
	size_t form = (size_t)_i % 2, i = (size_t)_i / 2;
	unsigned int tries = 0, taken, twice = 0;

	whole(forms[form]);
	begin(forms[form], NULL);
	ck_assert_int_eq(deliver(5000), 0);
	taken = server.taken;
	memset(&server, 0, sizeof(server));
	memcpy(server.plan, doubts[i].plan, sizeof(doubts[i].plan));
	for (size_t p = 0; p < 4; p++)
		twice += server.plan[p] == LOST || server.plan[p] == GATEWAY ||
			 server.plan[p] == GATEWAY_BROKEN;
	begin(forms[form], NULL);
	for (; deliver(5000); tries++)
		ck_assert_uint_eq(reporter->maybe_twice, 0);
	ck_assert_uint_eq(tries, doubts[i].more);
	ck_assert_uint_eq(reporter->maybe_twice, doubts[i].maybe_twice);
	ck_assert_uint_eq(server.taken, taken + twice);
	ck_assert_int_eq(deliver(6000), 0);
	ck_assert_uint_eq(reporter->maybe_twice, doubts[i].maybe_twice);
}
END_TEST

/* Neither does a server that fails internally, or whose backend is unavailable, report that it
 * accepted nothing. */
START_TEST(counts_what_pyroscope_leaves_open)
{
	server.plan[0] = _i ? 500 : 422;
	server.body = "{\"message\":\"unavailable: no ingester\"}";
	begin(&pyroscope_form, NULL);
	ck_assert_int_eq(deliver(5000), -EAGAIN);
	ck_assert_int_eq(deliver(5000), 0);
	ck_assert_uint_eq(reporter->maybe_twice, 1);
}
END_TEST

static int deliver_begun(struct report_begun *begun)
{
	struct report report = the_report(5000);

	report.begun = begun;
	return reporter->deliver(reporter, &report);
}

/* Another process sends the rest, and knows which parts may have arrived. */
START_TEST(goes_on_with_anothers)
{
	double total = whole(forms[_i]);
	struct report_begun begun = { 0 };
	unsigned int tries = 1;

	server.body_max = 1500; /* so that both have several */
	for (size_t i = 3; i < 12; i += 2)
		server.plan[i] = 503;
	begin(forms[_i], NULL);
	while (deliver_begun(&begun)) {
		ck_assert_uint_lt(tries++, 20);
		begin(forms[_i], NULL);
	}
	ck_assert_uint_gt(tries, 2);
	ck_assert_msg(server.total == total, "%f of %f", server.total, total);
	ck_assert_uint_eq(reporter->maybe_twice, 0);
	ck_assert(!is_twice());
}
END_TEST

START_TEST(knows_anothers_doubt)
{
	struct report_begun begun = { 0 };
	unsigned int taken;

	server.plan[0] = LOST;
	begin(forms[_i], NULL);
	ck_assert_int_eq(deliver_begun(&begun), -EIO);
	begin(forms[_i], NULL);
	ck_assert_int_eq(deliver_begun(&begun), 0);
	ck_assert_uint_eq(reporter->maybe_twice, 1);

	/* The progress of a process with another division is not used: all of it is sent. */
	taken = server.taken - 1;
	begun = (struct report_begun){ .from = 1, .step = 1, .count = 1 };
	begin(forms[_i], NULL);
	ck_assert_int_eq(deliver_begun(&begun), 0);
	ck_assert_uint_eq(server.taken, 2 * taken + 1);
	ck_assert_uint_eq(reporter->maybe_twice, taken);
}
END_TEST

/* If the store could not write the progress, the sender still remembers it. */
START_TEST(goes_on_with_its_own)
{
	double total = whole(&pyroscope_form);
	struct report_begun begun = { 0 }, older;

	server.plan[1] = server.plan[3] = 503;
	begin(&pyroscope_form, NULL);
	ck_assert_int_eq(deliver_begun(&begun), -EAGAIN);
	older = begun;
	ck_assert_int_eq(deliver_begun(&begun), -EAGAIN);
	ck_assert_uint_gt(begun.kind, older.kind);
	begun = _i ? older : (struct report_begun){ 0 };
	ck_assert_int_eq(deliver_begun(&begun), 0);
	ck_assert_msg(server.total == total, "%f of %f", server.total, total);
	/* Also that all was sent. */
	ck_assert_int_eq(deliver_begun(&begun), 0);
	ck_assert_msg(server.total == total, "%f of %f", server.total, total);
}
END_TEST

/* If nothing is small enough, it ends nevertheless. */
START_TEST(leaves_out_what_never_fits)
{
	server.body_max = 1;
	begin(forms[_i], NULL);
	ck_assert_int_eq(deliver(5000), -EBADMSG);
	ck_assert_uint_eq(server.taken, 0);
	ck_assert_uint_lt(server.sent, 100);
}
END_TEST

/* What follows a refused part is sent. */
START_TEST(drops_only_the_refused_part)
{
	unsigned int whole_taken;

	server.body_max = 1500;
	begin(forms[_i], NULL);
	ck_assert_int_eq(deliver(5000), 0);
	ck_assert_uint_gt(server.taken, 2);
	whole_taken = server.taken;
	server.plan[server.sent - 2] = 400;
	server.sent = server.taken = 0;
	ck_assert_int_eq(deliver(6000), -EBADMSG);
	ck_assert_uint_eq(server.taken, whole_taken - 1);
}
END_TEST

/* Also if the try ends before the report does, and another report is tried before the next one. */
START_TEST(says_what_it_leaves_out)
{
	char path[] = "/tmp/asprof-push-XXXXXX", text[4096] = "", *line;
	struct report report = the_report(5000);
	struct report_begun begun = { 0 };
	int fd = mkstemp(path);

	ck_assert_int_eq(log_open(LOG_ERROR, path), 0);
	for (size_t i = 0; i < 24; i++)
		server.plan[i] = 413;
	server.plan[24] = 503;
	report.begun = &begun;
	begin(forms[_i], NULL);
	ck_assert_int_eq(reporter->deliver(reporter, &report), -EAGAIN);
	ck_assert_uint_gt(begun.from, 0);
	ck_assert_int_eq(deliver(6000), 0);
	ck_assert_int_eq(reporter->deliver(reporter, &report), 0);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	line = strstr(text, "samples of a report are dropped");
	ck_assert_msg(line && !strstr(line + 1, "samples of a report"), "%s", text);
	close(fd);
	unlink(path);
}
END_TEST

START_TEST(waits_as_it_is_told)
{
	server.plan[0] = 429;
	server.retry_after = 120;
	begin(forms[_i], NULL);
	ck_assert_int_eq(deliver(5000), -EAGAIN);
	now_s += 119;
	ck_assert_int_eq(deliver(5000), -EAGAIN);
	ck_assert_uint_eq(server.sent, 1);
	now_s++;
	ck_assert_int_eq(deliver(5000), 0);
}
END_TEST

/* A pause ends if the clock is set back: the server asked for two minutes, not a day. */
START_TEST(waits_no_longer_with_another_clock)
{
	server.plan[0] = 429;
	server.retry_after = 120;
	begin(forms[_i], NULL);
	ck_assert_int_eq(deliver(5000), -EAGAIN);
	now_s -= 86400;
	ck_assert_int_eq(deliver(5000), 0);
}
END_TEST

static const struct {
	long status;
	int err, err_otlp;
} answers[] = {
	{ 200, 0, 0 },
	{ 202, 0, 0 },
	{ 302, -EACCES, -EACCES },
	{ 400, -EBADMSG, -EBADMSG },
	{ 401, -EACCES, -EACCES },
	{ 403, -EACCES, -EACCES },
	{ 404, -EACCES, -EACCES },
	{ 408, -EAGAIN, -EAGAIN },
	{ 413, -EFBIG, -EFBIG },
	{ 415, -EBADMSG, -EBADMSG },
	{ 429, -EAGAIN, -EAGAIN },
	{ 500, -EAGAIN, -EBADMSG },
	{ 501, -EAGAIN, -EBADMSG },
	{ 502, -EAGAIN, -EAGAIN },
	{ 503, -EAGAIN, -EAGAIN },
	{ 504, -EAGAIN, -EAGAIN },
};

START_TEST(judges_answers)
{
	ck_assert_int_eq(push_judge(answers[_i].status, false), answers[_i].err);
	ck_assert_int_eq(push_judge(answers[_i].status, true), answers[_i].err_otlp);
}
END_TEST

/* Pyroscope answers 422 if it cannot read a message, and also if its backend is unavailable. */
START_TEST(is_unsure_for_a_while)
{
	for (size_t i = 0; i < 16; i++)
		server.plan[i] = 422;
	begin(&pyroscope_form, NULL);
	server.body = "{\"message\":\"unavailable: no ingester\"}";
	for (int i = 0; i < 12; i++, now_s += 299)
		ck_assert_int_eq(deliver(5000), -EAGAIN);
	now_s += 12;
	ck_assert_int_eq(deliver(5000), -EBADMSG);
	server.sent = 0;
	server.body = "{\"message\":\"invalid_argument: no profile\"}";
	ck_assert_int_eq(deliver(6000), -EBADMSG);
}
END_TEST

START_TEST(gives_up_what_is_no_recording)
{
	struct report report = the_report(5000);

	begin(forms[_i], NULL);
	report.parts[0].offset = 1;
	report.parts[0].length--;
	ck_assert_int_eq(reporter->deliver(reporter, &report), -EBADMSG);
	report.parts[0].length = 40;
	ck_assert_int_eq(reporter->deliver(reporter, &report), -EBADMSG);
	ck_assert_uint_eq(server.sent, 0);
}
END_TEST

/* Such a report stays, so the operator must know the cause. */
START_TEST(says_once_what_cannot_be_read)
{
	char path[] = "/tmp/asprof-push-XXXXXX", text[4096] = "", *line;
	struct report report = the_report(5000);
	int fd = mkstemp(path);

	ck_assert_int_eq(log_open(LOG_ERROR, path), 0);
	begin(forms[_i], NULL);
	report.parts[0].fd = -1;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(reporter->deliver(reporter, &report), -EBADF);
	ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
	line = strstr(text, "cannot aggregate a report: Bad file descriptor\n");
	ck_assert_msg(line && !strchr(line, '\n')[1], "%s", text);
	close(fd);
	unlink(path);
}
END_TEST

static int note(void *arg, const char *key, const char *value)
{
	return buf_printf(arg, "[%s|%s]", key, value);
}

static const struct {
	const char *text, *plain, *decoded;
} pairs[] = {
	{ "", "", "" },
	{ "a=b", "[a|b]", "[a|b]" },
	{ " a = b , c=d ", "[a|b][c|d]", "[a|b][c|d]" },
	{ "a=%41%2c%3D,b", "[a|%41%2c%3D]", "[a|A,=]" },
	{ "a=b=c,=x,,d=", "[a|b=c][d|]", "[a|b=c][d|]" },
	{ "a=%4,b=%,c=%zz,d=%00", "[a|%4][b|%][c|%zz][d|%00]", "[a|%4][b|%][c|%zz][d|%00]" },
};

START_TEST(reads_pairs)
{
	struct buf out = BUF_INIT(4096);

	ck_assert_int_eq(pairs_each(pairs[_i].text, false, note, &out), 0);
	ck_assert_str_eq(buf_string(&out), pairs[_i].plain);
	buf_reset(&out);
	ck_assert_int_eq(pairs_each(pairs[_i].text, true, note, &out), 0);
	ck_assert_str_eq(buf_string(&out), pairs[_i].decoded);
	buf_free(&out);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof((table)[0]))

int main(void)
{
	TCase *tcase = tcase_create("push");

	tcase_set_timeout(tcase, 120);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, sends_all, 0, 2);
	tcase_add_loop_test(tcase, goes_on_where_it_was, 0, 2);
	tcase_add_loop_test(tcase, splits_what_is_too_large, 0, 2);
	tcase_add_test(tcase, splits_what_a_collector_finds_too_large);
	tcase_add_loop_test(tcase, keeps_to_what_pyroscope_takes, 0, 2);
	tcase_add_loop_test(tcase, keeps_to_what_otlp_receivers_take, 0, 2);
	tcase_add_loop_test(tcase, weighs_a_report_as_it_was_made, 0, 2);
	tcase_add_loop_test(tcase, no_two_parts_have_one_time, 0, 4);
	tcase_add_loop_test(tcase, sends_again_what_it_sent, 0, 2);
	tcase_add_loop_test(tcase, counts_what_may_be_twice, 0, 2 * COUNT(doubts));
	tcase_add_loop_test(tcase, counts_what_pyroscope_leaves_open, 0, 2);
	tcase_add_loop_test(tcase, goes_on_with_anothers, 0, 2);
	tcase_add_loop_test(tcase, knows_anothers_doubt, 0, 2);
	tcase_add_loop_test(tcase, goes_on_with_its_own, 0, 2);
	tcase_add_loop_test(tcase, leaves_out_what_never_fits, 0, 2);
	tcase_add_loop_test(tcase, drops_only_the_refused_part, 0, 2);
	tcase_add_loop_test(tcase, says_what_it_leaves_out, 0, 2);
	tcase_add_loop_test(tcase, waits_as_it_is_told, 0, 2);
	tcase_add_loop_test(tcase, waits_no_longer_with_another_clock, 0, 2);
	tcase_add_loop_test(tcase, judges_answers, 0, COUNT(answers));
	tcase_add_loop_test(tcase, a_destination_is_a_tenants, 0,
			    2 * sizeof(header_pairs) / sizeof(header_pairs[0]));
	tcase_add_test(tcase, is_unsure_for_a_while);
	tcase_add_loop_test(tcase, gives_up_what_is_no_recording, 0, 2);
	tcase_add_loop_test(tcase, says_once_what_cannot_be_read, 0, 2);
	tcase_add_loop_test(tcase, reads_pairs, 0, COUNT(pairs));
	return suite_run(tcase);
}
