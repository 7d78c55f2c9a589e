/* Client of AWS's Security Token Service: credentials for a role. */
#include "upload/aws/sts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/secret.h"
#include "core/show_url.h"
#include "upload/aws/instant.h"
#include "upload/aws/region.h"
#include "upload/aws/sigv4.h"
#include "upload/http/url.h"

#define CONNECT_MS 3000
#define WHOLE_MS   10000

static void sts_add_parameter(struct buf *body, const char *name, const char *value)
{
	if (!value)
		return;
	buf_printf(body, "&%s=", name);
	url_encode(body, value, false);
}

static void sts_add_role(struct buf *body, const struct sts_role *role)
{
	char session[48];

	snprintf(session, sizeof(session), "asprof-agent-%d", (int)getpid());
	sts_add_parameter(body, "RoleArn", role->arn);
	sts_add_parameter(body, "RoleSessionName", role->session ? role->session : session);
	sts_add_parameter(body, "DurationSeconds", role->seconds);
	sts_add_parameter(body, "ExternalId", role->external_id);
}

static int sts_make_url(struct aws *aws, struct buf *url)
{
	const char *region = aws_region(aws);
	char *endpoint = aws_endpoint(aws, "sts"), shown[SHOW_URL_SIZE];
	int err;

	if (endpoint && !url_is_base(endpoint)) {
		aws_warn(aws,
			 "cannot use the endpoint %s for STS: it is not an http or https URL "
			 "without user, query and fragment",
			 show_url(shown, endpoint));
		err = -EINVAL;
	} else if (endpoint)
		err = buf_printf(url, "%s%s", endpoint,
				 endpoint[strlen(endpoint) - 1] == '/' ? "" : "/");
	else if (region)
		err = buf_printf(url, "https://sts.%s.%s/", region, aws_domain(region));
	else
		err = buf_append_string(url, "https://sts.amazonaws.com/");
	free(endpoint);
	return err;
}

static int sts_read_response(const struct http_response *response, struct credentials *out)
{
	char *id = http_xml_text(response, "AccessKeyId");
	char *secret = http_xml_text(response, "SecretAccessKey");
	char *token = http_xml_text(response, "SessionToken");
	char *expiration = http_xml_text(response, "Expiration");
	int64_t expires = 0;
	int err = -EBADMSG;

	if (id && secret && token && expiration && !instant_parse(expiration, &expires))
		err = credentials_set(out, id, secret, token, expires);
	secret_free(id);
	secret_free(secret);
	secret_free(token);
	free(expiration);
	return err;
}

static void sts_log_failure(struct aws *aws, const struct sts_role *role, int err,
			    const struct http_response *response)
{
	char *code = http_xml_text(response, "Code");
	char *message = http_xml_text(response, "Message");

	if (response->status)
		aws_warn(aws, "STS refuses the role %s: status %ld, %s%s%s", role->arn,
			 response->status, code ? code : "no reason", message ? ": " : "",
			 message ? message : "");
	else
		aws_warn(aws, "cannot ask STS for the role %s: %s", role->arn,
			 response->problem[0] ? response->problem : strerror(-err));
	free(code);
	free(message);
}

static int sts_request(struct aws *aws, const struct sts_role *role, const struct buf *body,
		       const struct credentials *with, struct credentials *out)
{
	struct http_request request = HTTP_REQUEST_INIT("POST", CONNECT_MS, WHOLE_MS);
	struct http_response response = HTTP_RESPONSE_INIT;
	int err;

	request.body = body->data;
	request.body_length = body->length;
	err = sts_make_url(aws, &request.url);
	if (!err)
		err = http_request_header(&request, "content-type",
					  "application/x-www-form-urlencoded; charset=utf-8");
	if (!err && with) {
		struct sigv4 sign = { .credentials = with,
				      .region = aws_region(aws),
				      .service = "sts",
				      .now = aws_now(aws) };

		if (!sign.region)
			sign.region = "us-east-1";
		err = sigv4_sign(&request, &sign);
	}
	if (!err)
		err = aws->http->send(aws->http, &request, &response);
	if (!err)
		err = response.status == 200 ? sts_read_response(&response, out) : -EACCES;
	if (err)
		sts_log_failure(aws, role, err, &response);
	http_response_free(&response);
	http_request_free(&request);
	return err;
}

int sts_assume(struct aws *aws, const struct sts_role *role, const struct credentials *with,
	       struct credentials *out)
{
	struct buf body = BUF_INIT(8192);
	int err;

	buf_append_string(&body, "Action=AssumeRole&Version=2011-06-15");
	sts_add_role(&body, role);
	err = body.err;
	if (!err)
		err = sts_request(aws, role, &body, with, out);
	buf_free(&body);
	return err;
}

int sts_assume_web(struct aws *aws, const struct sts_role *role, const char *token,
		   struct credentials *out)
{
	struct buf body = BUF_INIT(1 << 20);
	/* All memory at once: a growing body would leave copies of the token. */
	int err = buf_reserve(&body, 3 * strlen(token) + 4096);

	if (!err) {
		buf_append_string(&body, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15");
		sts_add_role(&body, role);
		sts_add_parameter(&body, "WebIdentityToken", token);
		err = body.err;
	}
	if (!err)
		err = sts_request(aws, role, &body, NULL, out);
	secret_buf_free(&body);
	return err;
}
