/* A bucket to read from. */
#include "decoder/bucket/bucket_client.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
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

#define TRIES_MAX 6

/* Of a pause. */
#define SLEEP_STEP_NS 100000000u

/* What all clients of a bucket share: the settings, and credentials that are asked for by one at a
 * time, over a connection of their own. */
struct keys {
	struct credentials_provider provider;
	struct credentials_provider *source;
	pthread_mutex_t lock;
	struct aws aws;
	struct http *http;
	struct environment environment;
	struct config config;
	const atomic_bool *stop;
	struct bucket_client_hooks means;
	char *bucket, *ca_file;
};

struct client {
	struct keys *keys;
	bool owner;
	struct aws aws;
	struct http *http;
	struct s3_target target;
	char *base; /* as the settings have it */
	struct s3_bucket s3;
	bool has_answered; /* the store is there */
	uint64_t received;
};

/* --- settings --------------------------------------------------------------------------------- */

static int64_t aws_clock(void)
{
	return (int64_t)(clock_realtime_ns() / 1000000000u);
}

/* In pieces: whoever stops us is not kept waiting. */
static void sleep_ns(uint64_t ns, const atomic_bool *stop)
{
	while (ns && !atomic_load(stop)) {
		uint64_t piece = ns < SLEEP_STEP_NS ? ns : SLEEP_STEP_NS;
		struct timespec time = { .tv_nsec = (long)piece };

		nanosleep(&time, NULL);
		ns -= piece;
	}
}

static const struct bucket_client_hooks default_hooks = { NULL, http_curl_open, aws_clock,
							  sleep_ns };

/* Whether ENTRY is one of the agent's settings that tell how a bucket is reached. */
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

/* The agent's other settings do not matter here, and need not be right. Switches come first: of two
 * values of one name the first counts. */
static int settings_read_config(struct config *config, const struct reach *reach,
				char *const *environment)
{
	const struct {
		const char *name, *value;
	} given[] = { { "S3_ENDPOINT", reach->endpoint },
		      { "S3_REGION", reach->region },
		      { "S3_PROXY", reach->proxy } };
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
		say("%s", problem);
	for (size_t i = 0; i < 3; i++)
		free(made[i]);
	return err;
}

/* --- credentials ------------------------------------------------------------------------------ */

static int settings_get_credentials(struct credentials_provider *provider, struct credentials *out)
{
	struct keys *keys = (struct keys *)provider;
	int err;

	pthread_mutex_lock(&keys->lock);
	err = keys->source->get(keys->source, out);
	pthread_mutex_unlock(&keys->lock);
	return err;
}

static void settings_forget_credentials(struct credentials_provider *provider)
{
	struct keys *keys = (struct keys *)provider;

	pthread_mutex_lock(&keys->lock);
	credentials_forget(keys->source);
	pthread_mutex_unlock(&keys->lock);
}

static void settings_free(struct keys *keys)
{
	if (keys->source)
		keys->source->destroy(keys->source);
	if (keys->http)
		keys->http->close(keys->http);
	aws_free(&keys->aws);
	environment_free(&keys->environment);
	config_free(&keys->config);
	pthread_mutex_destroy(&keys->lock);
	free(keys->bucket);
	free(keys->ca_file);
	free(keys);
}

static void settings_init_aws(struct aws *aws, const struct keys *keys)
{
	*aws = (struct aws){ .environment = &keys->environment,
			     .now = keys->means.now,
			     .region = keys->config.s3_region,
			     .stop = keys->stop };
}

static int settings_open(struct keys **out, const char *bucket, const struct reach *reach,
			 const atomic_bool *stop, const struct bucket_client_hooks *means)
{
	char *const *environment = means->environment ? means->environment : environ;
	struct keys *keys = calloc(1, sizeof(*keys));
	int err;

	if (!keys)
		return -ENOMEM;
	keys->provider = (struct credentials_provider){ .name = "what the threads share",
							.get = settings_get_credentials,
							.forget = settings_forget_credentials };
	pthread_mutex_init(&keys->lock, NULL);
	keys->means = *means;
	keys->stop = stop;
	keys->bucket = strdup(bucket);
	err = keys->bucket ? environment_copy(&keys->environment, environment) : -ENOMEM;
	if (!err)
		err = settings_read_config(&keys->config, reach, environment);
	if (!err) {
		keys->config.s3_bucket = keys->bucket;
		settings_init_aws(&keys->aws, keys);
		keys->ca_file = aws_ca_file(&keys->aws);
		err = means->send(&keys->http, keys->ca_file, stop);
	}
	if (!err) {
		keys->aws.http = keys->http;
		err = credentials_default(&keys->source, &keys->aws);
	}
	if (err)
		settings_free(keys);
	else
		*out = keys;
	return err;
}

/* --- clients ---------------------------------------------------------------------------------- */

/* One with its own connection and an empty target. */
static struct client *bucket_client_new(struct keys *keys)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->keys = keys;
	settings_init_aws(&client->aws, keys);
	if (keys->means.send(&client->http, keys->ca_file, keys->stop)) {
		free(client);
		return NULL;
	}
	client->aws.http = client->http;
	client->s3 = (struct s3_bucket){ .config = &keys->config,
					 .aws = &client->aws,
					 .credentials = &keys->provider,
					 .target = &client->target };
	return client;
}

int bucket_client_open_with(struct client **out, const char *bucket, const struct reach *reach,
			    const atomic_bool *stop, const struct bucket_client_hooks *means)
{
	char problem[S3_TARGET_PROBLEM_SIZE] = "";
	struct client *client = NULL;
	struct keys *keys = NULL;
	int err;

	log_capture_start();
	err = settings_open(&keys, bucket, reach, stop, means);
	if (err)
		return err;
	client = bucket_client_new(keys);
	if (!client) {
		settings_free(keys);
		return -ENOMEM;
	}
	client->owner = true;
	err = s3_target_find(&client->target, &client->aws, &keys->config, problem);
	if (!err)
		client->base = strdup(client->target.base);
	if (!err && !client->base)
		err = -ENOMEM;
	if (problem[0])
		say("s3://%s: %s", bucket, problem);
	else if (err)
		say("s3://%s: %s", bucket, strerror(-err));
	if (err)
		bucket_client_close(client);
	else
		*out = client;
	return err;
}

int bucket_client_open(struct client **out, const char *bucket, const struct reach *reach,
		       const atomic_bool *stop)
{
	return bucket_client_open_with(out, bucket, reach, stop, &default_hooks);
}

int bucket_client_clone(struct client **out, struct client *of)
{
	struct client *client = bucket_client_new(of->keys);

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

void bucket_client_close(struct client *client)
{
	if (client->http)
		client->http->close(client->http);
	s3_target_free(&client->target);
	aws_free(&client->aws);
	free(client->base);
	if (client->owner)
		settings_free(client->keys);
	free(client);
}

const char *bucket_client_base(const struct client *client)
{
	return client->base;
}

uint64_t client_received(const struct client *client)
{
	return client->received;
}

/* --- what goes wrong -------------------------------------------------------------------------- */

/* What can be done about an answer, by its error code: of a listing, and of an object. */
static const struct {
	const char *code, *list, *get;
} remedies[] = {
	{ "AccessDenied", "the credentials must allow s3:ListBucket on the bucket",
	  "the credentials must allow s3:GetObject on its objects, and kms:Decrypt where they are "
	  "encrypted with a key of one's own" },
	{ "NoSuchBucket", "is the name right, and the endpoint?",
	  "is the name right, and the endpoint?" },
	{ "NoSuchKey", NULL, "it is gone since it was listed" },
	{ "ExpiredToken", "the credentials have expired: get new ones",
	  "the credentials have expired: get new ones" },
	{ "ExpiredTokenException", "the credentials have expired: get new ones",
	  "the credentials have expired: get new ones" },
	{ "TokenRefreshRequired", "the credentials have expired: get new ones",
	  "the credentials have expired: get new ones" },
	{ "InvalidToken", "get new credentials", "get new credentials" },
	{ "InvalidAccessKeyId", "are the access key and its secret right?",
	  "are the access key and its secret right?" },
	{ "SignatureDoesNotMatch", "are the access key and its secret right?",
	  "are the access key and its secret right?" },
	{ "RequestTimeTooSkewed", "this machine's clock is wrong",
	  "this machine's clock is wrong" },
	{ "InvalidObjectState", NULL,
	  "it lies in a storage class from which it must be restored first" },
	{ "PermanentRedirect", "the bucket lies elsewhere; see --region and --endpoint",
	  "the bucket lies elsewhere; see --region and --endpoint" },
	{ "AuthorizationHeaderMalformed", "the bucket lies elsewhere; see --region and --endpoint",
	  "the bucket lies elsewhere; see --region and --endpoint" },
	{ "PreconditionFailed", NULL, "it was replaced while it was read" },
};

static const char *find_remedy(long status, const char *code, bool list)
{
	if (!code)
		code = status == 403 ? "AccessDenied" : status == 404 && list ? "NoSuchBucket" : "";
	if (!*code && status == 404)
		code = "NoSuchKey";
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (!strcmp(remedies[i].code, code))
			return list ? remedies[i].list : remedies[i].get;
	return NULL;
}

/* KEY is an object's name, or a prefix to be listed. */
static void print_refusal(const struct client *client, const char *key, bool list,
			  const struct http_response *response)
{
	char *code = http_xml_text(response, "Code"), *message = http_xml_text(response, "Message");
	const char *mend = find_remedy(response->status, code, list);

	if (message && *message && message[strlen(message) - 1] == '.')
		message[strlen(message) - 1] = '\0';
	say("s3://%s/%s: %s answers %ld%s%s%s%s%s%s", client->keys->bucket, key,
	    client->target.base, response->status, code ? " " : "", code ? code : "",
	    message ? ": " : "", message ? message : "", mend ? "; " : "", mend ? mend : "");
	free(code);
	free(message);
}

static void print_no_answer(const struct client *client, const char *key, int err,
			    const struct http_response *response)
{
	char line[1024], last[1024] = "";

	while (log_capture_next_line(line, sizeof(line))) /* why there are no credentials */
		snprintf(last, sizeof(last), "%s", line);
	if (response->problem[0])
		say("s3://%s/%s: %s: %s", client->keys->bucket, key, client->target.base,
		    response->problem);
	else
		say("s3://%s/%s: %s", client->keys->bucket, key, last[0] ? last : strerror(-err));
}

/* Whether the next try may do where this one ended with ERR. */
static bool error_is_transient(const struct client *client, int err,
			       const struct http_response *response)
{
	if (response->status) {
		char *code = http_xml_text(response, "Code");
		struct s3_verdict verdict = s3_judge(response->status, code);

		free(code);
		/* What can be mended here was, in vain. */
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

/* Before the next try, after so many FAILURES before the last. */
static void pause_before_retry(const struct client *client, unsigned int failures)
{
	const struct keys *keys = client->keys;

	keys->means.pause(delivery_pause_ns(failures, (uint32_t)random_below(UINT32_MAX)),
			  keys->stop);
}

/* An answer of 200 whose body was cut off has that status, and is no answer. */
static int bucket_request_once(struct client *client, const struct s3_request *request,
			       struct http_response *response)
{
	bool in_doubt;
	int err = s3_bucket_ask(&client->s3, request, response, &in_doubt);

	client->has_answered = client->has_answered || response->status;
	return err;
}

/* --- listing ---------------------------------------------------------------------------------- */

static int bucket_request_page(struct client *client, const char *prefix, const char *token,
			       struct http_response *response)
{
	struct buf query = BUF_INIT(16384);
	struct s3_request request = { .method = "GET", .key = "", .answer_max = LISTING_MAX };
	int err = 0;

	if (token) {
		err = buf_append_string(&query, "continuation-token=");
		if (!err)
			err = url_encode(&query, token, false);
		if (!err)
			err = buf_append_string(&query, "&");
	}
	if (!err)
		err = buf_append_string(&query, "encoding-type=url&list-type=2&prefix=");
	if (!err)
		err = url_encode(&query, prefix, false);
	request.query = err ? NULL : buf_string(&query);
	if (!err && !request.query)
		err = -EFBIG;
	for (unsigned int failures = 0; !err; failures++) {
		err = bucket_request_once(client, &request, response);
		if (!err || failures + 1 == TRIES_MAX || !error_is_transient(client, err, response))
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

struct page {
	struct objects *out;
	uint64_t names;
};

static int list_page_add(void *arg, const struct listed *object)
{
	struct page *page = arg;

	page->names++;
	return objects_add(page->out, object);
}

int bucket_client_list(struct client *client, const char *prefix, struct objects *out,
		       void (*each)(void *arg, uint64_t names), void *arg)
{
	struct page page = { .out = out };
	struct listing listing = { 0 };
	char *token = NULL;
	int err;

	do {
		struct http_response response = HTTP_RESPONSE_INIT;

		err = bucket_request_page(client, prefix, token, &response);
		if (err) {
			http_response_free(&response);
			break;
		}
		client->received += response.body.length;
		err = listing_read(&listing, response.body.data, response.body.length,
				   list_page_add, &page);
		http_response_free(&response);
		if (err == -EBADMSG)
			say("s3://%s/%s: offset %zu of the list that %s gives: %s",
			    client->keys->bucket, prefix, listing.offset, client->target.base,
			    listing.problem);
		if (!err && listing.token && token && !strcmp(listing.token, token)) {
			say("s3://%s/%s: %s gives one page of its list again and again",
			    client->keys->bucket, prefix, client->target.base);
			err = -EBADMSG;
		}
		free(token);
		token = listing.token;
		if (!err && each)
			each(arg, page.names);
	} while (!err && token);
	if (err == -ENOMEM)
		say("out of memory");
	free(token);
	return err;
}

/* --- objects ---------------------------------------------------------------------------------- */

/* What is being written. */
struct sink {
	int fd;
	uint64_t length;   /* so far */
	uint64_t expected; /* in all */
	bool begun;        /* this try has brought something */
	int err;
};

static int take(void *arg, long status, const void *data, size_t length)
{
	struct sink *sink = arg;

	/* The whole in the place of the rest: all begins anew. */
	if (!sink->begun && status == 200)
		sink->length = 0;
	sink->begun = true;
	if (sink->length + length > sink->expected)
		sink->err = -ESTALE;
	else
		sink->err = fd_write(sink->fd, data, length, (off_t)sink->length);
	if (!sink->err)
		sink->length += length;
	return sink->err;
}

/* Whether FD has that SHA-256: of what lies there, not of what came. */
static int object_writer_check_hash(const struct sink *sink, const char *sha256)
{
	char found[SIGV4_HASH_SIZE];
	void *data;
	int err;

	if (!sha256[0])
		return 0;
	data = sink->length ? mmap(NULL, sink->length, PROT_READ, MAP_PRIVATE, sink->fd, 0) : NULL;
	if (data == MAP_FAILED)
		return -errno;
	err = sigv4_hash(found, data ? data : "", sink->length);
	if (data)
		munmap(data, sink->length);
	return err || !strcmp(found, sha256) ? err : -EBADMSG;
}

/* One try. */
static int object_fetch_once(struct client *client, const struct object *object, struct sink *sink,
			     struct http_response *response)
{
	struct s3_request request = { .method = "GET",
				      .key = object->key,
				      .expected = object->bytes,
				      .etag = object->etag,
				      .take = take,
				      .take_arg = sink };
	uint64_t before;
	int err;

	if (!object->etag[0] || sink->length == object->bytes)
		sink->length = 0;
	request.from = before = sink->length;
	sink->begun = false;
	sink->err = 0;
	err = bucket_request_once(client, &request, response);
	client->received += sink->length > before ? sink->length - before : sink->length;
	if (sink->err) {
		response->status = 0;
		return sink->err;
	}
	if (!err && sink->length != object->bytes)
		err = sink->begun || !object->bytes ? -ESTALE : -EIO;
	if (!err)
		err = object_writer_check_hash(sink, response->sha256);
	if (err == -EBADMSG) { /* changed on its way: all of it again */
		sink->length = 0;
		response->status = 0;
		snprintf(response->problem, sizeof(response->problem),
			 "what came is not what was uploaded");
		err = -EIO;
	}
	if (err == -EIO)
		response->status = 0;
	return err;
}

/* A refusal that says nothing of the others. */
static bool error_concerns_one_object(const struct http_response *response)
{
	char *code = http_xml_text(response, "Code");
	bool frozen = code && !strcmp(code, "InvalidObjectState");

	free(code);
	return frozen || response->status == 404 || response->status == 412;
}

int bucket_client_fetch(struct client *client, const struct object *object, int fd)
{
	struct sink sink = { .fd = fd, .expected = object->bytes };
	struct http_response response = HTTP_RESPONSE_INIT;
	uint64_t before;
	int err;

	for (unsigned int failures = 0;; failures++) {
		before = sink.length;
		err = object_fetch_once(client, object, &sink, &response);
		if (!err || failures + 1 == TRIES_MAX ||
		    !error_is_transient(client, err, &response))
			break;
		if (sink.length > before) { /* it goes on, if not in one go */
			failures = 0;
			continue;
		}
		pause_before_retry(client, failures);
	}
	if (err == -ESTALE)
		say("s3://%s/%s: it has another size than when it was listed", client->keys->bucket,
		    object->key);
	else if (err && response.status)
		print_refusal(client, object->key, false, &response);
	else if (err && err != -ECANCELED)
		print_no_answer(client, object->key, err, &response);
	if (err && error_concerns_one_object(&response))
		err = -ENOENT;
	http_response_free(&response);
	return err;
}
