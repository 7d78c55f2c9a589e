/* Credentials from the agent that runs a container: ECS, EKS pod identity, Greengrass. Specified
 * under "Container credential provider" in the SDKs' reference guide. */
#include <errno.h>
#include <string.h>

#include "core/show_url.h"

#include "core/secret.h"
#include "upload/aws/aws.h"
#include "upload/aws/credentials.h"
#include "upload/files/file.h"
#include "upload/http/url.h"

#define TIMEOUT_MS 2000

/* Hosts that may be asked without TLS, in addition to loopback: those of ECS and EKS. */
static const char *const plain_hosts[] = { "169.254.170.2", "169.254.170.23", "fd00:ec2::23" };

static bool container_allows_host(const char *text)
{
	struct url url;

	if (url_parse(&url, text))
		return false;
	if (url.https || url_is_loopback(&url))
		return true;
	for (size_t i = 0; i < sizeof(plain_hosts) / sizeof(plain_hosts[0]); i++)
		if (!strcmp(url.host, plain_hosts[i]))
			return true;
	return false;
}

static int container_make_url(struct aws *aws, struct buf *url)
{
	const struct environment *environment = aws->environment;
	const char *relative =
		environment_get(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
	const char *full = environment_get(environment, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
	char shown[SHOW_URL_SIZE];

	if (relative)
		return buf_printf(url, "http://169.254.170.2%s%s", relative[0] == '/' ? "" : "/",
				  relative);
	if (!full)
		return -ENOENT;
	if (!container_allows_host(full)) {
		aws_warn(aws,
			 "AWS_CONTAINER_CREDENTIALS_FULL_URI=%s is refused: it is neither https "
			 "nor loopback nor the container agent's address",
			 show_url(shown, full));
		return -EPERM;
	}
	return buf_append_string(url, full);
}

static int container_add_token(struct aws *aws, struct http_request *request)
{
	const struct environment *environment = aws->environment;
	const char *path = environment_get(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	const char *token = environment_get(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
	struct buf text = BUF_INIT(64 << 10);
	int err = 0;

	if (path) {
		err = file_read(&text, path);
		if (err)
			aws_warn(aws, "cannot read AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE %s: %s",
				 path, strerror(-err));
		else if (!buf_string(&text))
			err = -ENOMEM;
		while (!err && text.length && strchr("\r\n", text.data[text.length - 1]))
			text.length--;
		token = err ? NULL : buf_string(&text);
	}
	if (token && token[0])
		err = http_request_header(request, "authorization", "%s", token);
	secret_buf_free(&text);
	return err == -ENOENT ? -EIO : err;
}

int credentials_container(struct aws *aws, struct credentials *out)
{
	struct http_request request = HTTP_REQUEST_INIT("GET", TIMEOUT_MS, TIMEOUT_MS);
	struct http_response response = HTTP_RESPONSE_INIT;
	int err;

	err = container_make_url(aws, &request.url);
	if (err)
		goto out;
	err = http_request_header(&request, "accept", "application/json");
	if (!err)
		err = container_add_token(aws, &request);
	if (!err)
		err = aws->http->send(aws->http, &request, &response);
	if (!err && response.status != 200)
		err = -EACCES;
	if (!err)
		err = credentials_from_json(out, (const char *)response.body.data,
					    response.body.length, "Token");
	if (err)
		aws_warn(aws, "no credentials from the container's agent: %s (status %ld)",
			 response.problem[0] ? response.problem : strerror(-err), response.status);
out:
	http_response_free(&response);
	http_request_free(&request);
	return err;
}
