/* AWS Signature Version 4 in the headers of a request.
 *
 * Specified in "AWS Signature Version 4 for API requests" of the IAM user guide. libcurl's
 * implementation is not suitable: it refuses URLs with a literal path, though a key may contain
 * "..". It also signs an encoded plus sign in a query wrongly, and leaves copies of the secret in
 * freed memory. */
#include "upload/aws/sigv4.h"

#include <errno.h>
#include <mbedtls/md.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/date.h"
#include "core/secret.h"
#include "core/text/hex.h"
#include "upload/http/url.h"

#define HASH_BYTES 32
#define HEX_SIZE   SIGV4_HASH_SIZE
#define DATE_SIZE  17 /* 20261121T021000Z */

int sigv4_hash(char out[SIGV4_HASH_SIZE], const void *data, size_t length)
{
	uint8_t hash[HASH_BYTES];

	if (mbedtls_md(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), data, length, hash))
		return -EIO;
	*hex_encode(out, hash, sizeof(hash)) = '\0';
	return 0;
}

static int sigv4_hmac(uint8_t out[HASH_BYTES], const uint8_t *key, size_t key_length,
		      const char *text)
{
	return mbedtls_md_hmac(mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), key, key_length,
			       (const uint8_t *)text, strlen(text), out)
		       ? -EIO
		       : 0;
}

static void sigv4_date(char out[DATE_SIZE], int64_t now)
{
	const struct tm date = date_of_ms((uint64_t)now * 1000);

	strftime(out, DATE_SIZE, "%Y%m%dT%H%M%SZ", &date);
}

static int sigv4_add_headers(struct http_request *request, const struct sigv4 *with,
			     const char *date)
{
	char hash[HEX_SIZE];
	struct url url;
	const char *text = buf_string(&request->url);
	int err;

	if (!text)
		return -ENOMEM;
	err = url_parse(&url, text);
	if (err)
		return err;
	err = sigv4_hash(hash, request->body ? request->body : "", request->body_length);
	if (err)
		return err;
	if (url.port_written && url.port != (url.https ? 443u : 80u))
		err = http_request_header(request, "host", url.ipv6 ? "[%s]:%u" : "%s:%u", url.host,
					  url.port);
	else
		err = http_request_header(request, "host", url.ipv6 ? "[%s]" : "%s", url.host);
	if (!err)
		err = http_request_header(request, "x-amz-content-sha256", "%s", hash);
	if (!err)
		err = http_request_header(request, "x-amz-date", "%s", date);
	if (!err && with->credentials->token)
		err = http_request_header(request, "x-amz-security-token", "%s",
					  with->credentials->token);
	return err;
}

static int sigv4_compare_headers(const void *a, const void *b)
{
	return strcmp(((const struct http_header *)a)->name, ((const struct http_header *)b)->name);
}

/* Canonical value of a header: no blanks around it, and runs of blanks reduced to one. */
static void sigv4_append_value(struct buf *out, const char *value)
{
	while (*value == ' ')
		value++;
	for (; *value; value++)
		if (*value != ' ' || (value[1] != ' ' && value[1] != '\0'))
			buf_append(out, value, 1);
}

static void sigv4_append_names(struct buf *out, const struct http_request *request)
{
	for (size_t i = 0; i < request->header_count; i++)
		buf_printf(out, "%s%s", i ? ";" : "", request->headers[i].name);
}

static int sigv4_canonical_request(struct buf *out, struct http_request *request)
{
	const char *query, *hash = "";
	struct url url;
	int err;

	err = url_parse(&url, buf_string(&request->url));
	if (err)
		return err;
	query = strchrnul(url.path, '?');
	buf_printf(out, "%s\n%.*s\n%s\n", request->method,
		   url.path[0] == '/' ? (int)(query - url.path) : 1,
		   url.path[0] == '/' ? url.path : "/", query[0] ? query + 1 : "");
	for (size_t i = 0; i < request->header_count; i++) {
		const struct http_header *header = &request->headers[i];

		if (!strcmp(header->name, "x-amz-content-sha256"))
			hash = header->value;
		buf_printf(out, "%s:", header->name);
		sigv4_append_value(out, header->value);
		buf_append_string(out, "\n");
	}
	buf_append_string(out, "\n");
	sigv4_append_names(out, request);
	buf_printf(out, "\n%s", hash);
	return out->err;
}

/* Derive the signing key for one day, region and service from the secret. */
static int sigv4_signing_key(uint8_t key[HASH_BYTES], const struct sigv4 *with, const char *day)
{
	const char *const steps[] = { day, with->region, with->service, "aws4_request" };
	uint8_t next[HASH_BYTES];
	char *first;
	int err;

	if (asprintf(&first, "AWS4%s", with->credentials->secret) < 0)
		return -ENOMEM;
	err = sigv4_hmac(key, (const uint8_t *)first, strlen(first), steps[0]);
	for (size_t i = 1; i < sizeof(steps) / sizeof(steps[0]) && !err; i++) {
		err = sigv4_hmac(next, key, HASH_BYTES, steps[i]);
		memcpy(key, next, HASH_BYTES);
	}
	explicit_bzero(next, sizeof(next));
	secret_free(first);
	return err;
}

static int sigv4_add_authorization(struct http_request *request, const struct sigv4 *with,
				   const char *date, const char *request_hash)
{
	char day[9], scope[160], text[320], signature[HEX_SIZE];
	struct buf names = BUF_INIT(1024);
	uint8_t key[HASH_BYTES], mac[HASH_BYTES];
	int err;

	snprintf(day, sizeof(day), "%.8s", date);
	if ((size_t)snprintf(scope, sizeof(scope), "%s/%s/%s/aws4_request", day, with->region,
			     with->service) >= sizeof(scope))
		return -EINVAL;
	snprintf(text, sizeof(text), "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, request_hash);

	sigv4_append_names(&names, request);
	err = names.err;
	if (!err)
		err = sigv4_signing_key(key, with, day);
	if (!err)
		err = sigv4_hmac(mac, key, sizeof(key), text);
	if (!err) {
		*hex_encode(signature, mac, sizeof(mac)) = '\0';
		err = http_request_header(
			request, "authorization",
			"AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
			with->credentials->id, scope, buf_string(&names), signature);
	}
	explicit_bzero(key, sizeof(key));
	buf_free(&names);
	return err;
}

int sigv4_sign(struct http_request *request, const struct sigv4 *with)
{
	struct buf canonical = BUF_INIT(64 << 10);
	char date[DATE_SIZE], hash[HEX_SIZE];
	int err;

	sigv4_date(date, with->now);
	err = sigv4_add_headers(request, with, date);
	if (err)
		goto out;
	qsort(request->headers, request->header_count, sizeof(request->headers[0]),
	      sigv4_compare_headers);
	err = sigv4_canonical_request(&canonical, request);
	if (!err)
		err = sigv4_hash(hash, canonical.data, canonical.length);
	if (!err)
		err = sigv4_add_authorization(request, with, date, hash);
out:
	secret_buf_free(&canonical);
	return err;
}
