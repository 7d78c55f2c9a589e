/* Client of the EC2 instance metadata service, version 2: PUT returns a token, which each GET
 * sends. Specified in "Use the Instance Metadata Service" of the EC2 user guide. */
#include "upload/aws/imds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/show_url.h"
#include "upload/http/url.h"

#define TIMEOUT_MS 1000

static char *imds_endpoint(struct aws *aws)
{
	char *url = aws_setting(aws, "AWS_EC2_METADATA_SERVICE_ENDPOINT",
				"ec2_metadata_service_endpoint");
	char shown[SHOW_URL_SIZE];

	if (!url)
		url = strdup(aws_setting_is(aws, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
					    "ec2_metadata_service_endpoint_mode", "IPv6")
				     ? "http://[fd00:ec2::254]"
				     : "http://169.254.169.254");
	if (url && url[0] && url[strlen(url) - 1] == '/')
		url[strlen(url) - 1] = '\0';
	if (url && !url_is_base(url)) {
		aws_warn(aws,
			 "AWS_EC2_METADATA_SERVICE_ENDPOINT=%s is not an http or https URL without "
			 "user, query and fragment",
			 show_url(shown, url));
		free(url);
		url = NULL;
	}
	return url;
}

static int imds_send(struct aws *aws, const char *base, const char *path,
		     struct http_request *request, struct http_response *response)
{
	int err = buf_printf(&request->url, "%s%s", base, path);

	if (!err)
		err = aws->http->send(aws->http, request, response);
	aws->imds_timed_out = err == -ETIMEDOUT && response->unanswered;
	/* No server: this is not an EC2 instance. */
	if (err == -ECONNREFUSED || err == -ETIMEDOUT || err == -EHOSTUNREACH || err == -EINVAL)
		err = -ENOENT;
	if (!err && response->status != 200)
		err = response->status == 404 || response->status == 403 || response->status == 405
			      ? -ENOENT
			      : -EIO;
	return err;
}

static int imds_get_token(struct aws *aws, const char *base, struct http_response *response)
{
	struct http_request request = HTTP_REQUEST_INIT("PUT", TIMEOUT_MS, TIMEOUT_MS);
	int err;

	request.body = "";
	request.keep_connection = true;
	err = http_request_header(&request, "x-aws-ec2-metadata-token-ttl-seconds", "300");
	if (!err)
		err = imds_send(aws, base, "/latest/api/token", &request, response);
	http_request_free(&request);
	return err;
}

static int imds_get_path(struct aws *aws, const char *base, const char *path, const char *token,
			 struct http_response *response)
{
	struct http_request request = HTTP_REQUEST_INIT("GET", TIMEOUT_MS, TIMEOUT_MS);
	int err;

	err = http_request_header(&request, "x-aws-ec2-metadata-token", "%s", token);
	if (!err)
		err = imds_send(aws, base, path, &request, response);
	http_request_free(&request);
	return err;
}

int imds_get(struct aws *aws, const char *path, struct buf *out)
{
	struct http_response token = HTTP_RESPONSE_INIT, answer = HTTP_RESPONSE_INIT;
	char *base = NULL;
	int err = -ENOENT;

	aws->imds_timed_out = false;
	if (aws_setting_is(aws, "AWS_EC2_METADATA_DISABLED", "", "true"))
		goto out;
	base = imds_endpoint(aws);
	if (!base)
		goto out;
	err = imds_get_token(aws, base, &token);
	if (!err)
		err = imds_get_path(aws, base, path, http_text(&token), &answer);
	if (!err)
		err = buf_append(out, answer.body.data, answer.body.length);
out:
	http_response_free(&token);
	http_response_free(&answer);
	free(base);
	return err;
}

char *imds_region(struct aws *aws)
{
	struct buf text = BUF_INIT(256);
	char *region = NULL;

	if (!imds_get(aws, "/latest/meta-data/placement/region", &text) && text.length)
		region = strndup((const char *)text.data, text.length);
	buf_free(&text);
	return region;
}
