/* Credentials of the role of an EC2 instance. */
#include <errno.h>
#include <string.h>

#include "core/secret.h"
#include "upload/aws/aws.h"
#include "upload/aws/credentials.h"
#include "upload/aws/imds.h"
#include "upload/files/untrusted.h"

#define ROLES "/latest/meta-data/iam/security-credentials/"

int credentials_instance(struct aws *aws, struct credentials *out)
{
	struct buf path = BUF_INIT(1024), answer = BUF_INIT(64 << 10);
	size_t end = strlen(ROLES);
	int err;

	err = buf_append_string(&path, ROLES);
	if (!err)
		err = imds_get(aws, ROLES, &path); /* append the role's name to the path */
	if (err)
		goto out;
	while (end < path.length && !strchr(" \r\n", path.data[end]))
		end++;
	path.length = end;
	err = buf_string(&path) &&
			      untrusted_is_valid(UNTRUSTED_ROLE, buf_string(&path) + strlen(ROLES))
		      ? imds_get(aws, buf_string(&path), &answer)
		      : -EBADMSG;
	if (!err)
		err = credentials_from_json(out, (const char *)answer.data, answer.length, "Token");
	if (err && err != -ENOENT)
		aws_warn(aws, "no credentials from the instance's role: %s", strerror(-err));
out:
	secret_buf_free(&answer);
	buf_free(&path);
	return err;
}
