/* S3 client that lists a bucket and fetches its objects. */
#include "decoder/bucket/bucket_client.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/environment.h"
#include "core/fd.h"
#include "core/random.h"
#include "decoder/output/log_capture.h"
#include "decoder/output/message.h"
#include "upload/aws/sigv4.h"
#include "upload/http/http_curl.h"
#include "upload/http/url.h"
#include "upload/queue/delivery.h"
#include "upload/s3/s3_answer.h"
#include "upload/s3/s3_bucket.h"

#define ATTEMPTS_MAX 6

/* Limit of a list, about seven million objects. They are kept in memory, and a server may never end. */
#define LIST_MAX (UINT64_C(2) << 30)

/* Longest time between two checks of *STOP during a pause. */
#define SLEEP_STEP_NS 100000000u

/* Settings and credentials that all clients of a bucket share. One thread at a time gets credentials, over a separate
 * connection. */
struct bucket_settings {
	struct credentials_provider provider;
	struct credentials_provider *source;
	pthread_mutex_t lock;
	struct aws aws;
	struct http *http;
	struct environment environment;
	struct config config;
	const atomic_bool *stop;
	struct bucket_client_hooks hooks;
	char *bucket, *ca_file;
};

struct bucket_client {
	struct bucket_settings *settings;
	bool owns_settings;
	struct aws aws;
	struct http *http;
	struct s3_target target;
	char *base; /* URL from the settings */
	struct s3_bucket s3;
	bool has_answered; /* the store has answered before */
};

/* --- settings --------------------------------------------------------------------------------- */

/* Sleep in steps, to return soon after *STOP becomes true. */
static void sleep_ns(uint64_t ns, const atomic_bool *stop)
{
	while (ns && !atomic_load(stop)) {
		uint64_t step = ns < SLEEP_STEP_NS ? ns : SLEEP_STEP_NS;
		struct timespec time = { .tv_nsec = (long)step };

		nanosleep(&time, NULL);
		ns -= step;
	}
}

static const struct bucket_client_hooks default_hooks = { NULL, http_curl_open, aws_clock, sleep_ns,
							  LIST_MAX };

/* Whether ENTRY is an agent setting for access to a bucket. */
static bool entry_is_bucket_setting(const char *entry)
{
	static const char *const names[] = { "S3_BUCKET_OWNER=", "S3_REGION=", "S3_ENDPOINT=",
					     "S3_PROXY=" };
	size_t prefix = strlen(OPTION_PREFIX);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(entry, OPTION_PREFIX, prefix) &&
		    !strncmp(entry + prefix, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Read only the agent settings for the bucket: the others may be invalid. Options of the command are put first, as the
 * first of two values of one name is used. */
static int settings_read_config(struct config *config, const struct bucket_access *access,
				char *const *environment)
{
	const struct {
		const char *name, *value;
	} given[] = { { "S3_ENDPOINT", access->endpoint },
		      { "S3_REGION", access->region },
		      { "S3_PROXY", access->proxy } };
	char *entries[16], *made[3] = { NULL }, problem[OPTION_PROBLEM_MAX] = "";
	size_t count = 0;
	int err = 0;

	for (size_t i = 0; i < 3 && !err; i++) {
		if (!given[i].value)
			continue;
		if (asprintf(&made[i], OPTION_PREFIX "%s=%s", given[i].name, given[i].value) < 0)
			err = -ENOMEM;
		else
			entries[count++] = made[i];
	}
	for (; *environment && count + 1 < sizeof(entries) / sizeof(entries[0]); environment++)
		if (entry_is_bucket_setting(*environment))
			entries[count++] = *environment;
	entries[count] = NULL;
	if (!err)
		err = config_read(config, entries, problem);
	if (problem[0])
		message_print("%s", problem);
	for (size_t i = 0; i < 3; i++)
		free(made[i]);
	return err;
}

/* --- credentials ------------------------------------------------------------------------------ */

static int settings_get_credentials(struct credentials_provider *provider, struct credentials *out)
{
	struct bucket_settings *settings = (struct bucket_settings *)provider;
	int err;

	pthread_mutex_lock(&settings->lock);
	err = settings->source->get(settings->source, out);
	pthread_mutex_unlock(&settings->lock);
	return err;
}

static void settings_forget_credentials(struct credentials_provider *provider)
{
	struct bucket_settings *settings = (struct bucket_settings *)provider;

	pthread_mutex_lock(&settings->lock);
	credentials_forget(settings->source);
	pthread_mutex_unlock(&settings->lock);
}

static void settings_free(struct bucket_settings *settings)
{
	if (settings->source)
		settings->source->destroy(settings->source);
	if (settings->http)
		settings->http->close(settings->http);
	aws_free(&settings->aws);
	config_free(&settings->config);
	pthread_mutex_destroy(&settings->lock);
	free(settings->bucket);
	free(settings->ca_file);
	free(settings);
}

static void settings_init_aws(struct aws *aws, const struct bucket_settings *settings)
{
	*aws = (struct aws){ .environment = &settings->environment,
			     .now = settings->hooks.now,
			     .region = settings->config.s3_region,
			     .stop = settings->stop };
}

static int settings_open(struct bucket_settings **out, const char *bucket,
			 const struct bucket_access *access, const atomic_bool *stop,
			 const struct bucket_client_hooks *hooks)
{
	char *const *environment = hooks->environment ? hooks->environment : environ;
	struct bucket_settings *settings = calloc(1, sizeof(*settings));
	int err;

	if (!settings)
		return -ENOMEM;
	settings->provider = (struct credentials_provider){ .name = "shared",
							    .get = settings_get_credentials,
							    .forget = settings_forget_credentials };
	pthread_mutex_init(&settings->lock, NULL);
	settings->hooks = *hooks;
	settings->stop = stop;
	settings->bucket = strdup(bucket);
	settings->environment.entries = environment;
	err = settings->bucket ? 0 : -ENOMEM;
	if (!err)
		err = settings_read_config(&settings->config, access, environment);
	if (!err) {
		settings->config.s3_bucket = settings->bucket;
		settings_init_aws(&settings->aws, settings);
		settings->ca_file = aws_ca_file(&settings->aws);
		err = hooks->send(&settings->http, settings->ca_file, stop);
	}
	if (!err) {
		settings->aws.http = settings->http;
		err = credentials_default(&settings->source, &settings->aws);
	}
	if (err)
		settings_free(settings);
	else
		*out = settings;
	return err;
}

/* --- clients ---------------------------------------------------------------------------------- */

/* Create a client with its own connection and an empty target. */
static struct bucket_client *bucket_client_new(struct bucket_settings *settings)
{
	struct bucket_client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->settings = settings;
	settings_init_aws(&client->aws, settings);
	if (settings->hooks.send(&client->http, settings->ca_file, settings->stop)) {
		free(client);
		return NULL;
	}
	client->aws.http = client->http;
	client->s3 = (struct s3_bucket){ .config = &settings->config,
					 .aws = &client->aws,
					 .credentials = &settings->provider,
					 .target = &client->target };
	return client;
}

int bucket_client_open_with(struct bucket_client **out, const char *bucket,
			    const struct bucket_access *access, const atomic_bool *stop,
			    const struct bucket_client_hooks *hooks)
{
	char problem[S3_TARGET_PROBLEM_SIZE] = "";
	struct bucket_client *client = NULL;
	struct bucket_settings *settings = NULL;
	int err;

	log_capture_start();
	err = settings_open(&settings, bucket, access, stop, hooks);
	if (err)
		return err;
	client = bucket_client_new(settings);
	if (!client) {
		settings_free(settings);
		return -ENOMEM;
	}
	client->owns_settings = true;
	err = s3_target_find(&client->target, &client->aws, &settings->config, problem);
	if (!err)
		client->base = strdup(client->target.base);
	if (!err && !client->base)
		err = -ENOMEM;
	if (problem[0])
		message_print("s3://%s: %s", bucket, problem);
	else if (err)
		message_print("s3://%s: %s", bucket, strerror(-err));
	if (err)
		bucket_client_close(client);
	else
		*out = client;
	return err;
}

int bucket_client_open(struct bucket_client **out, const char *bucket,
		       const struct bucket_access *access, const atomic_bool *stop)
{
	return bucket_client_open_with(out, bucket, access, stop, &default_hooks);
}

int bucket_client_clone(struct bucket_client **out, struct bucket_client *of)
{
	struct bucket_client *client = bucket_client_new(of->settings);

	if (!client)
		return -ENOMEM;
	client->aws.skew = of->aws.skew;
	client->has_answered = of->has_answered;
	client->target = of->target;
	client->target.base = strdup(of->target.base);
	if (!client->target.base) {
		bucket_client_close(client);
		return -ENOMEM;
	}
	*out = client;
	return 0;
}

void bucket_client_close(struct bucket_client *client)
{
	if (client->http)
		client->http->close(client->http);
	s3_target_free(&client->target);
	aws_free(&client->aws);
	free(client->base);
	if (client->owns_settings)
		settings_free(client->settings);
	free(client);
}

const char *bucket_client_base(const struct bucket_client *client)
{
	return client->base;
}

/* --- errors ----------------------------------------------------------------------------------- */

/* Remedies by S3 error code; `list` replaces `remedy` if a listing fails. */
static const struct {
	const char *code, *remedy, *list;
} remedies[] = {
	{ "AccessDenied",
	  "the credentials must allow s3:GetObject on its objects, and kms:Decrypt where they are "
	  "encrypted with a customer key",
	  "the credentials must allow s3:ListBucket on the bucket" },
	{ "NoSuchBucket", "check the name and the endpoint", NULL },
	{ "NoSuchKey", "it was deleted after it was listed", NULL },
	{ "ExpiredToken", "the credentials have expired: get new ones", NULL },
	{ "ExpiredTokenException", "the credentials have expired: get new ones", NULL },
	{ "TokenRefreshRequired", "the credentials have expired: get new ones", NULL },
	{ "InvalidToken", "get new credentials", NULL },
	{ "InvalidAccessKeyId", "check the access key and its secret", NULL },
	{ "SignatureDoesNotMatch", "check the access key and its secret", NULL },
	{ "RequestTimeTooSkewed", "this machine's clock is wrong", NULL },
	{ "InvalidObjectState", "it must be restored from its storage class first", NULL },
	{ "PermanentRedirect", "the bucket is elsewhere; see --region and --endpoint", NULL },
	{ "AuthorizationHeaderMalformed", "the bucket is elsewhere; see --region and --endpoint",
	  NULL },
	{ "PreconditionFailed", "it was replaced while it was read", NULL },
};

static const char *find_remedy(long status, const char *code, bool list)
{
	if (!code)
		code = status == 403 ? "AccessDenied" : status == 404 && list ? "NoSuchBucket" : "";
	if (!*code && status == 404)
		code = "NoSuchKey";
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (!strcmp(remedies[i].code, code))
			return list && remedies[i].list ? remedies[i].list : remedies[i].remedy;
	return NULL;
}

/* Print the store's error. KEY is an object's name, or a prefix that is listed. */
static void print_refusal(const struct bucket_client *client, const char *key, bool list,
			  const struct http_response *response)
{
	char *code = http_xml_text(response, "Code"), *message = http_xml_text(response, "Message");
	const char *remedy = find_remedy(response->status, code, list);

	if (message && *message && message[strlen(message) - 1] == '.')
		message[strlen(message) - 1] = '\0';
	message_print("s3://%s/%s: %s answers %ld%s%s%s%s%s%s", client->settings->bucket, key,
		      client->target.base, response->status, code ? " " : "", code ? code : "",
		      message ? ": " : "", message ? message : "", remedy ? "; " : "",
		      remedy ? remedy : "");
	free(code);
	free(message);
}

static void print_no_answer(const struct bucket_client *client, const char *key, int err,
			    const struct http_response *response)
{
	char line[1024], last[1024] = "";

	while (log_capture_next_line(
		line, sizeof(line))) /* the log has the reason for missing credentials */
		snprintf(last, sizeof(last), "%s", line);
	if (response->problem[0])
		message_print("s3://%s/%s: %s: %s", client->settings->bucket, key,
			      client->target.base, response->problem);
	else
		message_print("s3://%s/%s: %s", client->settings->bucket, key,
			      last[0] ? last : strerror(-err));
}

/* Whether a retry may succeed after ERR. */
static bool error_is_transient(const struct bucket_client *client, int err,
			       const struct http_response *response)
{
	if (response->status) {
		char *code = http_xml_text(response, "Code");
		struct s3_verdict verdict = s3_judge(response->status, code);

		free(code);
		/* s3_bucket_ask() has already tried the verdict's remedy. */
		return err == -EAGAIN && verdict.mend == S3_MEND_NOTHING;
	}
	switch (err) {
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
		return client->has_answered;
	case -ETIMEDOUT:
	case -EIO:
		return true;
	default:
		return false;
	}
}

/* Pause before a retry, after FAILURES earlier failures. */
static void pause_before_retry(const struct bucket_client *client, unsigned int failures)
{
	const struct bucket_settings *settings = client->settings;

	settings->hooks.pause(delivery_pause_ns(failures, (uint32_t)random_below(UINT32_MAX)),
			      settings->stop);
}

/* Make one request. An answer of 200 with an incomplete body has that status, but returns an error. */
static int bucket_request_once(struct bucket_client *client, const struct s3_request *request,
			       struct http_response *response)
{
	bool in_doubt;
	int err = s3_bucket_ask(&client->s3, request, response, &in_doubt);

	client->has_answered = client->has_answered || response->status;
	return err;
}

/* --- listing ---------------------------------------------------------------------------------- */

static int bucket_request_page(struct bucket_client *client, const char *prefix, const char *token,
			       struct http_response *response)
{
	struct buf query = BUF_INIT(16384);
	struct s3_request request = { .method = "GET", .key = "", .answer_max = LISTING_MAX };
	int err;

	if (token) {
		buf_append_string(&query, "continuation-token=");
		url_encode(&query, token, false);
		buf_append_string(&query, "&");
	}
	buf_append_string(&query, "encoding-type=url&list-type=2&prefix=");
	url_encode(&query, prefix, false);
	err = query.err;
	request.query = err ? NULL : buf_string(&query);
	if (!err && !request.query)
		err = -EFBIG;
	for (unsigned int failures = 0; !err; failures++) {
		err = bucket_request_once(client, &request, response);
		if (!err || failures + 1 == ATTEMPTS_MAX ||
		    !error_is_transient(client, err, response))
			break;
		pause_before_retry(client, failures);
		err = 0;
	}
	buf_free(&query);
	if (err && response->status)
		print_refusal(client, prefix, true, response);
	else if (err && err != -ECANCELED)
		print_no_answer(client, prefix, err, response);
	return err;
}

struct list_page {
	struct objects *out;
	uint64_t names;
	uint64_t bytes; /* of all pages */
};

/* Detector of an endless listing: a server that repeats a token, or sends a page without objects but with a token.
 * Repeated tokens form a cycle. Brent's algorithm finds it (An improved Monte Carlo factorization algorithm, 1980):
 * it compares each token with a stored one, and replaces that after 1, 2, 4, 8... pages. */
struct cycle_detector {
	char *token; /* malloc'd */
	uint64_t pages, until;
	uint64_t names;
};

/* Check TOKEN after NAMES objects. Returns the problem, or NULL; *ERR is set when out of memory. */
static const char *cycle_detector_check(struct cycle_detector *cycle, const char *token,
					uint64_t names, int *err)
{
	if (names == cycle->names)
		return "returns a page without an object, but claims that more follow";
	cycle->names = names;
	if (cycle->token && !strcmp(token, cycle->token))
		return "returns the same page of its list repeatedly";
	if (++cycle->pages < cycle->until)
		return NULL;
	cycle->pages = 0;
	cycle->until = cycle->until ? 2 * cycle->until : 1;
	free(cycle->token);
	cycle->token = strdup(token);
	*err = cycle->token ? 0 : -ENOMEM;
	return NULL;
}

/* Returns the problem of a list that has more pages, from TOKEN on, or NULL; *ERR is set when out of memory. */
static const char *list_check(const struct list_page *page, uint64_t most,
			      struct cycle_detector *cycle, const char *token, int *err)
{
	return page->bytes > most ? "has too many objects; a longer prefix selects fewer"
				  : cycle_detector_check(cycle, token, page->names, err);
}

static int list_page_add(void *arg, const struct listing_entry *object)
{
	struct list_page *page = arg;

	page->names++;
	return objects_add(page->out, object);
}

int bucket_client_list(struct bucket_client *client, const char *prefix, struct objects *out,
		       void (*each)(void *arg, uint64_t names), void *arg)
{
	struct list_page page = { .out = out };
	struct listing listing = { 0 };
	struct cycle_detector cycle = { 0 };
	char *token = NULL;
	const char *wrong;
	int err;

	do {
		struct http_response response = HTTP_RESPONSE_INIT;

		err = bucket_request_page(client, prefix, token, &response);
		if (err) {
			http_response_free(&response);
			break;
		}
		err = listing_read(&listing, response.body.data, response.body.length,
				   list_page_add, &page);
		page.bytes += response.body.length;
		http_response_free(&response);
		if (err == -EBADMSG)
			message_print("s3://%s/%s: offset %zu of the list from %s: %s",
				      client->settings->bucket, prefix, listing.offset,
				      client->target.base, listing.problem);
		wrong = !err && listing.token ? list_check(&page, client->settings->hooks.list_max,
							   &cycle, listing.token, &err)
					      : NULL;
		if (wrong) {
			message_print("s3://%s/%s: %s %s", client->settings->bucket, prefix,
				      client->target.base, wrong);
			err = -EBADMSG;
		}
		free(token);
		token = listing.token;
		if (!err && each)
			each(arg, page.names);
	} while (!err && token);
	if (err == -ENOMEM)
		message_print("out of memory");
	free(cycle.token);
	free(token);
	return err;
}

/* --- objects ---------------------------------------------------------------------------------- */

/* Writer of an object's content. */
struct object_writer {
	int fd;
	uint64_t length;   /* so far */
	uint64_t expected; /* in all */
	bool has_data;     /* this attempt has received data */
	int err;
};

static int object_writer_append(void *arg, long status, const void *data, size_t length)
{
	struct object_writer *writer = arg;

	/* A whole object (200) instead of a range (206): start over. */
	if (!writer->has_data && status == 200)
		writer->length = 0;
	writer->has_data = true;
	if (writer->length + length > writer->expected)
		writer->err = -ESTALE;
	else
		writer->err = fd_write(writer->fd, data, length, (off_t)writer->length);
	if (!writer->err)
		writer->length += length;
	return writer->err;
}

/* Check the SHA-256 of the file. It reads the written file, so it also finds faults of the disk. */
static int object_writer_check_hash(const struct object_writer *writer, const char *sha256)
{
	char found[SIGV4_HASH_SIZE];
	void *data;
	int err;

	if (!sha256[0])
		return 0;
	data = writer->length ? mmap(NULL, writer->length, PROT_READ, MAP_PRIVATE, writer->fd, 0)
			      : NULL;
	if (data == MAP_FAILED)
		return -errno;
	err = sigv4_hash(found, data ? data : "", writer->length);
	if (data)
		munmap(data, writer->length);
	return err || !strcmp(found, sha256) ? err : -EBADMSG;
}

/* Try once to fetch OBJECT, from the current length on. */
static int object_fetch_once(struct bucket_client *client, const struct object *object,
			     struct object_writer *writer, struct http_response *response)
{
	struct s3_request request = { .method = "GET",
				      .key = object->key,
				      .expected = object->bytes,
				      .etag = object->etag,
				      .take = object_writer_append,
				      .take_arg = writer };
	uint64_t before;
	int err;

	if (!object->etag[0] || writer->length == object->bytes)
		writer->length = 0;
	request.from = before = writer->length;
	writer->has_data = false;
	writer->err = 0;
	err = bucket_request_once(client, &request, response);
	if (writer->err) {
		response->status = 0;
		return writer->err;
	}
	if (!err && writer->length != object->bytes)
		err = writer->has_data || !object->bytes ? -ESTALE : -EIO;
	if (!err)
		err = object_writer_check_hash(writer, response->sha256);
	if (err == -EBADMSG) { /* corrupted: fetch all of it again */
		writer->length = 0;
		response->status = 0;
		snprintf(response->problem, sizeof(response->problem),
			 "the received data is not the uploaded data");
		err = -EIO;
	}
	if (err == -EIO)
		response->status = 0;
	return err;
}

/* Whether other objects may still be readable after this error. */
static bool error_concerns_one_object(const struct http_response *response)
{
	char *code = http_xml_text(response, "Code");
	bool frozen = code && !strcmp(code, "InvalidObjectState");

	free(code);
	return frozen || response->status == 404 || response->status == 412;
}

int bucket_client_fetch(struct bucket_client *client, const struct object *object, int fd)
{
	struct object_writer writer = { .fd = fd, .expected = object->bytes };
	struct http_response response = HTTP_RESPONSE_INIT;
	uint64_t before;
	int err;

	for (unsigned int failures = 0;; failures++) {
		before = writer.length;
		err = object_fetch_once(client, object, &writer, &response);
		if (!err || failures + 1 == ATTEMPTS_MAX ||
		    !error_is_transient(client, err, &response))
			break;
		if (writer.length > before) { /* an attempt with progress does not count */
			failures = 0;
			continue;
		}
		pause_before_retry(client, failures);
	}
	if (err == -ESTALE)
		message_print("s3://%s/%s: its size has changed since it was listed",
			      client->settings->bucket, object->key);
	else if (err && response.status)
		print_refusal(client, object->key, false, &response);
	else if (err && err != -ECANCELED)
		print_no_answer(client, object->key, err, &response);
	if (err && error_concerns_one_object(&response))
		err = -ENOENT;
	http_response_free(&response);
	return err;
}
