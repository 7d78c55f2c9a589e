/* Context of all requests to AWS. The rules are those of the "AWS SDKs and Tools Reference
 * Guide". */
#include "upload/aws/aws.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/secret.h"
#include "core/text/hash.h"
#include "upload/aws/ini.h"
#include "upload/files/file.h"
#include "upload/http/http_curl.h"

#define FILE_MAX (1u << 20)

#define LINE_MAX_BYTES 1024
#define WARNED_MAX     (sizeof(((struct aws *)NULL)->warned) / sizeof(uint32_t))

void aws_forget_files(struct aws *aws)
{
	secret_buf_free(&aws->config);
	secret_buf_free(&aws->credentials);
	aws->files_read = false;
}

void aws_free(struct aws *aws)
{
	aws_forget_files(aws);
	free(aws->found_region);
	aws->found_region = NULL;
}

int64_t aws_now(const struct aws *aws)
{
	return aws->now() + aws->skew;
}

void aws_warn(struct aws *aws, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	uint32_t hash;
	va_list args;

	if (aws->stop && atomic_load(aws->stop))
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	hash = text_hash(line);
	for (size_t i = 0; i < aws->warned_count && i < WARNED_MAX; i++)
		if (aws->warned[i] == hash)
			return;
	aws->warned[aws->warned_count++ % WARNED_MAX] = hash;
	log_warn("%s", line);
}

void aws_reset_warnings(struct aws *aws)
{
	aws->warned_count = 0;
}

const char *aws_profile(const struct aws *aws)
{
	const char *name = environment_get(aws->environment, "AWS_PROFILE");

	if (!name)
		name = environment_get(aws->environment, "AWS_DEFAULT_PROFILE");
	return name ? name : "default";
}

static void aws_read_file(struct aws *aws, struct buf *out, const char *variable, const char *usual)
{
	const char *path = environment_get(aws->environment, variable);
	const char *home = environment_get(aws->environment, "HOME");
	char *made = NULL;
	int err;

	*out = (struct buf)BUF_INIT(FILE_MAX);
	if (!path && home && asprintf(&made, "%s/%s", home, usual) > 0)
		path = made;
	if (path) {
		err = file_read(out, path);
		if (err && (err != -ENOENT || !made) && err != -ENOTDIR)
			aws_warn(aws, "cannot read %s: %s", path, strerror(-err));
		if (err)
			secret_buf_free(out);
	}
	free(made);
}

static void aws_read_files(struct aws *aws)
{
	if (aws->files_read)
		return;
	aws->files_read = true;
	aws_read_file(aws, &aws->config, "AWS_CONFIG_FILE", ".aws/config");
	aws_read_file(aws, &aws->credentials, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
}

static char *aws_config_get(struct aws *aws, const char *kind, const char *name, const char *key)
{
	char *section, *value;

	if (asprintf(&section, "%s %s", kind, name) < 0)
		return NULL;
	value = ini_get((const char *)aws->config.data, aws->config.length, section, key);
	free(section);
	return value;
}

char *aws_profile_get(struct aws *aws, const char *profile, const char *key)
{
	char *value;

	aws_read_files(aws);
	value = ini_get((const char *)aws->credentials.data, aws->credentials.length, profile, key);
	if (!value)
		value = aws_config_get(aws, "profile", profile, key);
	if (!value && !strcmp(profile, "default"))
		value = ini_get((const char *)aws->config.data, aws->config.length, profile, key);
	return value;
}

char *aws_setting(struct aws *aws, const char *name, const char *key)
{
	const char *value = environment_get(aws->environment, name);

	return value ? strdup(value) : aws_profile_get(aws, aws_profile(aws), key);
}

bool aws_setting_is(struct aws *aws, const char *name, const char *key, const char *value)
{
	char *is = aws_setting(aws, name, key);
	bool same = is && !strcasecmp(is, value);

	free(is);
	return same;
}

static char *aws_profile_endpoint(struct aws *aws, const char *service)
{
	char *services = aws_profile_get(aws, aws_profile(aws), "services");
	char key[32], *endpoint = NULL;

	snprintf(key, sizeof(key), "%s.endpoint_url", service);
	if (services)
		endpoint = aws_config_get(aws, "services", services, key);
	free(services);
	return endpoint ? endpoint : aws_profile_get(aws, aws_profile(aws), "endpoint_url");
}

char *aws_endpoint(struct aws *aws, const char *service)
{
	char name[40] = "AWS_ENDPOINT_URL_";
	const char *value;
	size_t end = strlen(name);

	if (aws_setting_is(aws, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
			   "ignore_configured_endpoint_urls", "true"))
		return NULL;
	for (size_t i = 0; service[i] && end + 1 < sizeof(name); i++)
		name[end++] = (char)toupper((unsigned char)service[i]);
	value = environment_get(aws->environment, name);
	if (!value)
		value = environment_get(aws->environment, "AWS_ENDPOINT_URL");
	return value ? strdup(value) : aws_profile_endpoint(aws, service);
}

char *aws_ca_file(struct aws *aws)
{
	char *file = aws_setting(aws, "AWS_CA_BUNDLE", "ca_bundle");
	const char *other = environment_get(aws->environment, "SSL_CERT_FILE");

	return file || !other ? file : strdup(other);
}

int64_t aws_clock(void)
{
	return (int64_t)(clock_realtime_ns() / 1000000000u);
}

int aws_open_http(struct aws *aws)
{
	char *ca;
	int err;

	if (aws->http)
		return 0;
	ca = aws_ca_file(aws);
	err = http_curl_open(&aws->http, ca, aws->stop);
	free(ca);
	return err;
}
