/* Target of uploads in S3: the URL of the bucket. */
#include "upload/s3/s3_target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/show_url.h"
#include "upload/aws/region.h"
#include "upload/files/untrusted.h"
#include "upload/http/url.h"

static int s3_target_amazon(struct buf *out, struct aws *aws, const char *region)
{
	bool fips = aws_setting_is(aws, "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint", "true");
	bool dualstack =
		aws_setting_is(aws, "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint", "true");

	return buf_printf(out, "https://s3%s%s.%s.%s", fips ? "-fips" : "",
			  dualstack ? ".dualstack" : "", region, aws_domain(region));
}

/* A certificate's wildcard matches one label, so a bucket name with dots cannot be part of the
 * host name. */
static bool wants_host_style(struct aws *aws, const char *bucket, bool custom, bool https)
{
	char *style = aws_profile_get(aws, aws_profile(aws), "s3.addressing_style");
	bool host = !custom;

	if (style && !strcmp(style, "virtual"))
		host = true;
	else if (style && !strcmp(style, "path"))
		host = false;
	free(style);
	return host && !(https && strchr(bucket, '.'));
}

static int append_bucket(struct buf *out, struct aws *aws, const char *endpoint, const char *bucket,
			 bool custom)
{
	struct url url;
	int err = url_is_base(endpoint) ? url_parse(&url, endpoint) : -EINVAL;

	if (err)
		return err;
	if (!wants_host_style(aws, bucket, custom, url.https)) {
		buf_printf(out, "%s%s", endpoint, endpoint[strlen(endpoint) - 1] == '/' ? "" : "/");
		url_encode(out, bucket, false);
	} else {
		buf_printf(out, "%s://", url.https ? "https" : "http");
		url_encode(out, bucket, false);
		buf_printf(out, ".%s", url.host);
		if (url.port_written)
			buf_printf(out, ":%u", url.port);
	}
	buf_append_string(out, "/");
	return out->err;
}

/* Check the settings that need no lookup. */
static int s3_target_check(const struct config *config, char problem[S3_TARGET_PROBLEM_SIZE])
{
	const struct {
		const char *name, *value;
		enum untrusted word;
		const char *what;
	} words[] = {
		{ "S3_BUCKET", config->s3_bucket, UNTRUSTED_BUCKET, "a bucket's name" },
		{ "S3_BUCKET_OWNER", config->s3_bucket_owner, UNTRUSTED_ACCOUNT, "an account" },
		{ "S3_REGION", config->s3_region, UNTRUSTED_REGION, "a region" },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!words[i].value || untrusted_is_valid(words[i].word, words[i].value))
			continue;
		snprintf(problem, S3_TARGET_PROBLEM_SIZE, OPTION_PREFIX "%s=%.80s is not %s",
			 words[i].name, words[i].value, words[i].what);
		return -EINVAL;
	}
	return 0;
}

/* REGION NULL: determine it. */
static int s3_target_resolve(struct s3_target *out, struct aws *aws, const struct config *config,
			     const char *region, char problem[S3_TARGET_PROBLEM_SIZE])
{
	struct buf base = BUF_INIT(4096), own = BUF_INIT(512);
	char *endpoint = config->s3_endpoint ? strdup(config->s3_endpoint) : NULL;
	char shown[SHOW_URL_SIZE];
	bool custom;
	int err;

	memset(out, 0, sizeof(*out));
	err = s3_target_check(config, problem);
	if (err)
		goto out;
	if (!endpoint)
		endpoint = aws_endpoint(aws, "s3");
	custom = endpoint != NULL;
	out->custom = custom;
	if (!region)
		region = aws_region(aws);
	if (!region && custom)
		region = "us-east-1"; /* most stores have no regions and accept this one */
	if (!region) {
		err = -EDESTADDRREQ;
		snprintf(problem, S3_TARGET_PROBLEM_SIZE,
			 "no region: set " OPTION_PREFIX "S3_REGION or AWS_REGION");
		goto out;
	}
	snprintf(out->region, sizeof(out->region), "%s", region);
	if (!custom)
		err = s3_target_amazon(&own, aws, region);
	if (!err)
		err = append_bucket(&base, aws, custom ? endpoint : buf_string(&own),
				    config->s3_bucket, custom);
	if (err) {
		snprintf(problem, S3_TARGET_PROBLEM_SIZE, "cannot use the endpoint %.150s: %s",
			 custom ? show_url(shown, endpoint) : region,
			 err == -EINVAL
				 ? "it is not an http or https URL without user, query and fragment"
				 : strerror(-err));
		goto out;
	}
	out->base = strndup((const char *)base.data, base.length);
	err = out->base ? 0 : -ENOMEM;
out:
	buf_free(&base);
	buf_free(&own);
	free(endpoint);
	return err;
}

int s3_target_find(struct s3_target *out, struct aws *aws, const struct config *config,
		   char problem[S3_TARGET_PROBLEM_SIZE])
{
	return s3_target_resolve(out, aws, config, NULL, problem);
}

int s3_target_in(struct s3_target *out, struct aws *aws, const struct config *config,
		 const char *region)
{
	char problem[S3_TARGET_PROBLEM_SIZE];

	return s3_target_resolve(out, aws, config, region, problem);
}

void s3_target_free(struct s3_target *target)
{
	free(target->base);
	memset(target, 0, sizeof(*target));
}

char *s3_destination(const struct config *config, const struct environment *environment)
{
	const char *endpoint = config->s3_endpoint;
	struct url url = { .port = 0 };
	char *out;

	if (!endpoint)
		endpoint = environment_get(environment, "AWS_ENDPOINT_URL_S3");
	if (!endpoint)
		endpoint = environment_get(environment, "AWS_ENDPOINT_URL");
	if (!endpoint || url_parse(&url, endpoint))
		snprintf(url.host, sizeof(url.host), "%s", endpoint ? "?" : "amazon");
	if (asprintf(&out, "s3 %s:%u %s/%s", url.host, url.port, config->s3_bucket,
		     config->s3_prefix ? config->s3_prefix : "") < 0)
		return NULL;
	return out;
}
