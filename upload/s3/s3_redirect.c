/* Redirects of a store. */
#include "upload/s3/s3_redirect.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "upload/http/url.h"
#include "upload/queue/pairs.h"

static const char *redirect_text_after(const char *text, const char *start)
{
	size_t length = strlen(start);

	return strncmp(text, start, length) ? NULL : text + length;
}

static bool redirect_ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length > end_length && !strcmp(text + length - end_length, end);
}

/* "eu-west-1", "us-gov-west-1": words, and a number at the end. */
static bool is_region(const char *text, size_t length)
{
	size_t digits = 0;

	while (digits < length && text[length - 1 - digits] >= '0' &&
	       text[length - 1 - digits] <= '9')
		digits++;
	return digits && digits + 1 < length && text[length - 1 - digits] == '-' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz-") + digits >= length &&
	       memchr(text, '-', length - 1 - digits);
}

/* "s3", "s3-fips", "s3-external-1", "s3-eu-west-1". Anyone can own a host at Amazon, as a
 * machine or a load balancer. But no such host has this label directly in front of the regions
 * and the domain. */
static bool is_s3_label(const char *text, size_t length)
{
	static const char *const labels[] = { "s3", "s3-fips", "s3-external-1" };

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (strlen(labels[i]) == length && !memcmp(text, labels[i], length))
			return true;
	return length > 3 && !memcmp(text, "s3-", 3) && is_region(text + 3, length - 3);
}

static bool is_amazon(const char *service, const char *domain)
{
	const char *end;
	bool first = true;

	if (!redirect_ends_with(service, domain))
		return false;
	for (end = service + strlen(service) - strlen(domain); service < end; first = false) {
		size_t length = strcspn(service, ".");

		if (first ? !is_s3_label(service, length)
			  : !is_region(service, length) &&
				    !(length == 9 && !memcmp(service, "dualstack", 9)))
			return false;
		service += length + 1;
	}
	return !first;
}

/* The domain of a host for S3 at Amazon, or NULL. */
static const char *amazon_domain(const char *service)
{
	static const char *const domains[] = { ".amazonaws.com", ".amazonaws.com.cn" };

	for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++)
		if (is_amazon(service, domains[i]))
			return domains[i];
	return NULL;
}

/* HOST without the bucket's label, if it has one. A bucket name in a host name is in lower case. A bucket may be
 * called "s3". */
static const char *redirect_service(const char *host, const char *bucket)
{
	const char *rest = redirect_text_after(host, bucket);

	return rest && rest[0] == '.' && !amazon_domain(host) ? rest + 1 : host;
}

/* True if the path of BASE, a base URL, is the bucket. */
static bool has_bucket_in_path(const struct url *base, const char *bucket)
{
	const char *rest = redirect_text_after(base->path + (base->path[0] == '/'), bucket);

	return rest && (!rest[0] || !strcmp(rest, "/"));
}

static const char *base_service(const struct url *base, const char *bucket)
{
	return has_bucket_in_path(base, bucket) ? base->host : redirect_service(base->host, bucket);
}

static bool is_address(const struct url *url)
{
	struct in_addr four;

	return url->ipv6 || inet_pton(AF_INET, url->host, &four) == 1;
}

/* For base URLs. */
static bool redirect_is_allowed(const struct url *from, const struct url *to, const char *bucket)
{
	const char *endpoint = base_service(from, bucket), *service = base_service(to, bucket);
	const char *domain = amazon_domain(endpoint);
	char end[sizeof(from->host) + 1];

	if (from->https && !to->https)
		return false;
	if (!strcmp(from->host, to->host))
		return true;
	if (is_address(from) || is_address(to))
		return false;
	if (domain)
		return is_amazon(service, domain) &&
		       (service != to->host || has_bucket_in_path(to, bucket));
	snprintf(end, sizeof(end), ".%s", endpoint);
	return redirect_ends_with(to->host, end) || !strcmp(to->host, endpoint);
}

/* Return BASE, which is malloc'd, or NULL after it was released: no base URL, or a redirect to it is not allowed. */
static char *redirect_check(const struct url *from, char *base, const char *bucket)
{
	struct url to;

	if (url_is_base(base) && !url_parse(&to, base) && redirect_is_allowed(from, &to, bucket))
		return base;
	free(base);
	return NULL;
}

/* True if the LENGTH bytes of PATH are KEY in any percent-encoding. */
static bool is_key(const char *path, size_t length, const char *key)
{
	for (; length && *key; key++) {
		int byte = length >= 3 ? pairs_percent_byte(path) : -1;
		size_t taken = byte >= 0 ? 3 : 1;

		if ((byte >= 0 ? (char)byte : *path) != *key)
			return false;
		path += taken;
		length -= taken;
	}
	return !length && !*key;
}

/* The base URL in LOCATION, an absolute URL or one that starts with "//" or "/". */
static char *redirect_from_location(const struct url *from, const char *bucket, const char *key,
				    const char *location)
{
	const char *scheme = from->https ? "https:" : "http:", *path;
	char *text = NULL, *base = NULL;
	struct url to;
	size_t length;
	int made;

	if (location[0] == '/' && location[1] == '/')
		made = asprintf(&text, "%s%s", scheme, location);
	else if (location[0] == '/' && from->port_written)
		made = asprintf(&text, "%s//%s%s%s:%u%s", scheme, from->ipv6 ? "[" : "", from->host,
				from->ipv6 ? "]" : "", from->port, location);
	else if (location[0] == '/')
		made = asprintf(&text, "%s//%s%s%s%s", scheme, from->ipv6 ? "[" : "", from->host,
				from->ipv6 ? "]" : "", location);
	else
		made = asprintf(&text, "%s", location);
	if (made < 0)
		return NULL;
	length = url_parse(&to, text) ? 0 : strcspn(to.path, "?#");
	for (path = to.path; !base && length && path < to.path + length; path++)
		if (*path == '/' && is_key(path + 1, length - (size_t)(path + 1 - to.path), key))
			base = strndup(text, (size_t)(path + 1 - text));
	free(text);
	return base ? redirect_check(from, base, bucket) : NULL;
}

static char *redirect_from_endpoint(const struct url *from, const char *bucket, const char *host)
{
	char *base = NULL;
	int made;

	if (strchr(host, '/'))
		return NULL;
	made = asprintf(&base, "%s://%s/%s%s", from->https ? "https" : "http", host,
			redirect_service(host, bucket) == host ? bucket : "",
			redirect_service(host, bucket) == host ? "/" : "");
	return made < 0 ? NULL : redirect_check(from, base, bucket);
}

char *s3_redirect(const char *base, const char *bucket, const char *key,
		  const struct http_response *response)
{
	char *host, *to = NULL;
	struct url from;

	if ((response->status != 301 && response->status != 307 && response->status != 308) ||
	    url_parse(&from, base))
		return NULL;
	if (response->location[0])
		return redirect_from_location(&from, bucket, key, response->location);
	host = http_xml_text(response, "Endpoint");
	if (host)
		to = redirect_from_endpoint(&from, bucket, host);
	free(host);
	return to;
}
