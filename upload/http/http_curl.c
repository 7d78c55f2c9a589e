/* HTTP sender that uses libcurl; the only module that depends on it. */
#include "upload/http/http_curl.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/privileges.h"
#include "upload/http/http_ca.h"
#include "upload/http/low_speed.h"
#include "upload/http/url.h"

struct http_curl {
	struct http http;
	CURL *curl;
	char *ca_file;
	struct buf ca; /* loaded for the request in progress */
	const atomic_bool *stop;
	unsigned int attempts;  /* connections used by the request in progress */
	struct low_speed speed; /* of the request in progress */
	bool is_slow;           /* SPEED has ended the request */
};

static const struct {
	CURLcode code;
	int err;
} codes[] = {
	{ CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH },
	{ CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH },
	{ CURLE_COULDNT_CONNECT, -ECONNREFUSED },
	{ CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT },
	{ CURLE_ABORTED_BY_CALLBACK, -ECANCELED },
	{ CURLE_PEER_FAILED_VERIFICATION, -EPROTO },
	{ CURLE_SSL_CACERT_BADFILE, -EPROTO },
	{ CURLE_SSL_CONNECT_ERROR, -EPROTO },
	{ CURLE_SSL_ISSUER_ERROR, -EPROTO },
	{ CURLE_OUT_OF_MEMORY, -ENOMEM },
	{ CURLE_URL_MALFORMAT, -EINVAL },
	{ CURLE_WRITE_ERROR, -EFBIG },
};

static int http_curl_errno(CURLcode code)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].code == code)
			return codes[i].err;
	return code == CURLE_OK ? 0 : -EIO;
}

/* The program may depend on the lowest free descriptors, such as stdio's. */
static curl_socket_t http_curl_open_socket(void *unused, curlsocktype purpose,
					   struct curl_sockaddr *address)
{
	int fd;

	(void)unused;
	(void)purpose;
	fd = fd_raise(socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol));
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* libcurl creates a wake-up descriptor for each handle by this name. This definition replaces
 * the C library's in the image only. */
int eventfd(unsigned int count, int flags)
{
	int fd = fd_raise((int)syscall(SYS_eventfd2, count, flags));

	if (fd < 0)
		errno = -fd;
	return fd < 0 ? -1 : fd;
}

/* Receiver of a response. */
struct response_sink {
	CURL *curl;
	const struct http_request *request;
	struct http_response *response;
};

static size_t http_curl_write_body(char *data, size_t size, size_t count, void *arg)
{
	const struct response_sink *sink = arg;
	long status = 0;
	int err;

	curl_easy_getinfo(sink->curl, CURLINFO_RESPONSE_CODE, &status);
	if (sink->request->take && (status == 200 || status == 206))
		err = sink->request->take(sink->request->take_arg, status, data, size * count);
	else
		err = buf_append(&sink->response->body, data, size * count);
	return err ? 0 : size * count;
}

/* The value of the header NAME of the response; "": not sent. */
static const char *http_curl_header(const struct http_curl *self, const char *name)
{
	struct curl_header *header;

	return curl_easy_header(self->curl, name, 0, CURLH_HEADER, -1, &header) ? ""
										: header->value;
}

static void http_curl_read_headers(const struct http_curl *self, struct http_response *response)
{
	time_t date = curl_getdate(http_curl_header(self, "date"), NULL);
	curl_off_t number;

	response->date = date > 0 ? date : 0;
	if (!curl_easy_getinfo(self->curl, CURLINFO_RETRY_AFTER, &number))
		response->retry_after = number;
	if (!curl_easy_getinfo(self->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &number))
		response->length = number > 0 ? number : 0;
	snprintf(response->region, sizeof(response->region), "%s",
		 http_curl_header(self, "x-amz-bucket-region"));
	snprintf(response->sha256, sizeof(response->sha256), "%s",
		 http_curl_header(self, "x-amz-meta-sha256"));
	snprintf(response->location, sizeof(response->location), "%s",
		 http_curl_header(self, "location"));
}

/* curl's own low-speed limit would also end the wait for the response. */
static int http_curl_check_progress(void *arg, curl_off_t to_receive, curl_off_t received,
				    curl_off_t to_send, curl_off_t sent)
{
	struct http_curl *self = arg;

	(void)to_receive;
	if ((self->stop && atomic_load(self->stop)) || privileges_follow(false))
		return 1;
	self->is_slow = low_speed_check(&self->speed, clock_monotonic_ns(), (uint64_t)sent,
					(uint64_t)to_send, (uint64_t)received);
	return self->is_slow;
}

/* A connection is ready for the request. If a kept connection ends before the response starts,
 * curl opens another by itself. */
static int http_curl_count_attempt(void *arg, char *remote, char *local, int remote_port,
				   int local_port)
{
	struct http_curl *self = arg;

	(void)remote;
	(void)local;
	(void)remote_port;
	(void)local_port;
	self->attempts++;
	return CURL_PREREQFUNC_OK;
}

static bool http_curl_is_unanswered(const struct http_curl *self,
				    const struct http_request *request, CURLcode code, long status)
{
	curl_off_t sent = 0;

	if (self->attempts > 1)
		return true;
	if (code == CURLE_OK || status || !self->attempts)
		return false;
	curl_easy_getinfo(self->curl, CURLINFO_SIZE_UPLOAD_T, &sent);
	return (uint64_t)sent >= request->body_length;
}

/* curl would open the file itself, without close-on-exec. */
static int http_curl_set_ca(struct http_curl *self, const char *url, struct http_response *response)
{
	struct curl_blob blob = { .flags = CURL_BLOB_NOCOPY };
	int err;

	buf_reset(&self->ca);
	if (strncasecmp(url, "https:", 6) != 0)
		return 0;
	err = http_ca_read(&self->ca, self->ca_file);
	if (err) {
		snprintf(response->problem, sizeof(response->problem),
			 "cannot read the certificate authorities: %s: %s",
			 self->ca_file ? self->ca_file
				       : "no bundle of a known distribution (set AWS_CA_BUNDLE)",
			 strerror(-err));
		return err;
	}
	/* mbedTLS requires the terminating NUL of a PEM buffer. */
	if (!buf_string(&self->ca))
		return -ENOMEM;
	blob.data = self->ca.data;
	blob.len = self->ca.length;
	curl_easy_setopt(self->curl, CURLOPT_CAINFO_BLOB, &blob);
	return 0;
}

static bool has_header(const struct http_request *request, const char *name)
{
	for (size_t i = 0; i < request->header_count; i++)
		if (!strcmp(request->headers[i].name, name))
			return true;
	return false;
}

static struct curl_slist *http_curl_header_lines(const struct http_request *request, bool *failed)
{
	struct curl_slist *list = NULL, *more;
	char *line;

	/* Suppress "100 Continue" and curl's default content type. */
	list = curl_slist_append(NULL, "Expect:");
	if (list && !has_header(request, "content-type")) {
		more = curl_slist_append(list, "Content-Type:");
		if (!more)
			goto fail;
		list = more;
	}
	for (size_t i = 0; list && i < request->header_count; i++) {
		if (asprintf(&line, "%s: %s", request->headers[i].name, request->headers[i].value) <
		    0)
			goto fail;
		more = curl_slist_append(list, line);
		explicit_bzero(line, strlen(line));
		free(line);
		if (!more)
			goto fail;
		list = more;
	}
	*failed = !list;
	return list;
fail:
	*failed = true;
	return list;
}

static void http_curl_free_lines(struct curl_slist *list)
{
	for (struct curl_slist *line = list; line; line = line->next)
		explicit_bzero(line->data, strlen(line->data));
	curl_slist_free_all(list);
}

static void http_curl_set_request(struct http_curl *self, const struct http_request *request,
				  const char *url)
{
	CURL *curl = self->curl;

	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	if (!strcmp(request->method, "HEAD"))
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L); /* otherwise curl waits for a body */
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	/* By default curl reads both from the program's environment. */
	curl_easy_setopt(curl, CURLOPT_PROXY, request->proxy ? request->proxy : "");
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "");
	curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, request->keep_connection ? 0L : 1L);
	if (request->body) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)request->body_length);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
	}
}

static void http_curl_set_limits(struct http_curl *self, const struct http_request *request)
{
	CURL *curl = self->curl;

	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_timeout_ms);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_MAXCONNECTS, 2L);
	curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, http_curl_open_socket);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, http_curl_check_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, self);
	curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, http_curl_count_attempt);
	curl_easy_setopt(curl, CURLOPT_PREREQDATA, self);
}

static void http_curl_set_response(struct response_sink *sink, char *words)
{
	CURL *curl = sink->curl;

	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, http_curl_write_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, sink);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
}

static int http_curl_send(struct http *http, const struct http_request *request,
			  struct http_response *response)
{
	struct http_curl *self = (struct http_curl *)http;
	char *url = strndup((const char *)request->url.data, request->url.length);
	struct response_sink sink = { self->curl, request, response };
	char words[CURL_ERROR_SIZE] = "";
	struct curl_slist *lines;
	struct url parsed;
	bool failed;
	CURLcode code;
	int err;

	buf_reset(&response->body);
	*response = (struct http_response){ .body = response->body };
	self->attempts = 0;
	self->speed = (struct low_speed){ 0 };
	self->is_slow = false;

	curl_easy_reset(self->curl); /* keeps its connections */
	lines = http_curl_header_lines(request, &failed);
	err = !url || failed ? -ENOMEM : url_parse(&parsed, url);
	if (!err)
		err = http_curl_set_ca(self, url, response);
	if (err)
		goto out;
	http_curl_set_request(self, request, url);
	http_curl_set_limits(self, request);
	http_curl_set_response(&sink, words);
	curl_easy_setopt(self->curl, CURLOPT_HTTPHEADER, lines);

	code = curl_easy_perform(self->curl);
	if (self->is_slow) {
		code = CURLE_OPERATION_TIMEDOUT;
		snprintf(words, sizeof(words), "less than %u bytes a second in %u seconds",
			 LOW_SPEED_BYTES_A_SECOND, LOW_SPEED_SECONDS);
	}
	curl_easy_getinfo(self->curl, CURLINFO_RESPONSE_CODE, &response->status);
	if (response->status < 200)
		response->status = 0; /* "100 Continue" is not the response */
	http_curl_read_headers(self, response);
	response->unanswered = http_curl_is_unanswered(self, request, code, response->status);
	err = http_curl_errno(code);
	if (err)
		snprintf(response->problem, sizeof(response->problem), "%s",
			 words[0] && !strpbrk(words, "@?#") ? words : curl_easy_strerror(code));
out:
	curl_easy_reset(self->curl);
	http_curl_free_lines(lines);
	buf_free(&self->ca);
	free(url);
	return err;
}

static void http_curl_close(struct http *http)
{
	struct http_curl *self = (struct http_curl *)http;

	if (self->curl)
		curl_easy_cleanup(self->curl);
	free(self->ca_file);
	free(self);
	curl_global_cleanup();
}

int http_curl_open(struct http **out, const char *ca_file, const atomic_bool *stop)
{
	struct http_curl *self;

	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return -ENOMEM;
	self = calloc(1, sizeof(*self));
	if (!self) {
		curl_global_cleanup();
		return -ENOMEM;
	}
	self->http.send = http_curl_send;
	self->http.close = http_curl_close;
	self->stop = stop;
	self->ca = (struct buf)BUF_INIT(HTTP_CA_MAX);
	self->curl = curl_easy_init();
	self->ca_file = ca_file ? strdup(ca_file) : NULL;
	if (!self->curl || (ca_file && !self->ca_file)) {
		http_curl_close(&self->http);
		return -ENOMEM;
	}
	*out = &self->http;
	return 0;
}
