/* Credentials from a profile in the shared config and credentials files: keys, a role assumed
 * with another profile, or a program that prints them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/secret.h"
#include "upload/aws/aws.h"
#include "upload/aws/credentials.h"
#include "upload/aws/process.h"
#include "upload/aws/sts.h"
#include "upload/files/file.h"

/* Longest chain of source profiles. */
#define DEPTH_MAX 5

#define PROCESS_TIMEOUT_MS 60000

static int profile_get(struct aws *aws, const char *profile, unsigned int depth, bool role,
		       struct credentials *out);

static int profile_get_keys(struct aws *aws, const char *profile, struct credentials *out)
{
	char *id = aws_profile_get(aws, profile, "aws_access_key_id");
	char *secret = aws_profile_get(aws, profile, "aws_secret_access_key");
	char *token = aws_profile_get(aws, profile, "aws_session_token");
	int err = -ENOENT;

	if (id && secret)
		err = credentials_set(out, id, secret, token, 0);
	secret_free(id);
	secret_free(secret);
	secret_free(token);
	return err;
}

static int profile_run_process(struct aws *aws, const char *profile, struct credentials *out)
{
	char *command = aws_profile_get(aws, profile, "credential_process");
	struct buf answer = BUF_INIT(64 << 10);
	int err = -ENOENT;

	if (!command)
		goto out;
	if (aws->refuses_programs) {
		aws->refused_program = true;
		aws_warn(aws,
			 "credential_process of profile %s is not run, because another process set "
			 "it",
			 profile);
		err = -EPERM;
		goto out;
	}
	err = process_read(command, aws->environment, PROCESS_TIMEOUT_MS, aws->stop, &answer);
	if (!err)
		err = credentials_from_json(out, (const char *)answer.data, answer.length,
					    "SessionToken");
	if (err == -ENOENT)
		err = -EIO;
	if (err)
		aws_warn(aws, "no credentials from credential_process of profile %s: %s", profile,
			 strerror(-err));
out:
	secret_buf_free(&answer);
	free(command);
	return err;
}

static int profile_get_named_source(struct aws *aws, const char *name, struct credentials *out)
{
	static const struct {
		const char *name;
		credentials_get *get;
	} sources[] = {
		{ "Environment", credentials_environment },
		{ "Ec2InstanceMetadata", credentials_instance },
		{ "EcsContainer", credentials_container },
	};

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (!strcmp(name, sources[i].name))
			return sources[i].get(aws, out);
	return -EINVAL;
}

static int profile_get_role_source(struct aws *aws, const char *profile, unsigned int depth,
				   struct credentials *out)
{
	char *source = aws_profile_get(aws, profile, "source_profile");
	char *named = aws_profile_get(aws, profile, "credential_source");
	int err = -EINVAL;

	/* A profile may be its own source; then its keys are used. */
	if (source)
		err = profile_get(aws, source, depth + 1, strcmp(source, profile) != 0, out);
	else if (named)
		err = profile_get_named_source(aws, named, out);
	if (err)
		aws_warn(aws, "profile %s: no credentials from its source: %s", profile,
			 source  ? source
			 : named ? named
				 : "neither source_profile nor credential_source is set");
	free(source);
	free(named);
	return err == -ENOENT ? -EINVAL : err;
}

static int profile_assume_with_token(struct aws *aws, const struct sts_role *role, const char *path,
				     struct credentials *out)
{
	struct buf token = BUF_INIT(64 << 10);
	int err = file_read(&token, path);

	if (err)
		aws_warn(aws, "cannot read the web identity token %s: %s", path, strerror(-err));
	else if (!buf_string(&token))
		err = -ENOMEM;
	else
		err = sts_assume_web(aws, role, buf_string(&token), out);
	secret_buf_free(&token);
	return err == -ENOENT ? -EINVAL : err;
}

static int profile_assume_role(struct aws *aws, const char *profile, unsigned int depth,
			       struct credentials *out)
{
	char *arn = aws_profile_get(aws, profile, "role_arn");
	char *session = aws_profile_get(aws, profile, "role_session_name");
	char *external = aws_profile_get(aws, profile, "external_id");
	char *seconds = aws_profile_get(aws, profile, "duration_seconds");
	char *token_file = aws_profile_get(aws, profile, "web_identity_token_file");
	struct sts_role role = {
		.arn = arn, .session = session, .external_id = external, .seconds = seconds
	};
	struct credentials source = { 0 };
	int err = -ENOENT;

	if (arn && token_file) {
		err = profile_assume_with_token(aws, &role, token_file, out);
	} else if (arn) {
		err = profile_get_role_source(aws, profile, depth, &source);
		if (!err)
			err = sts_assume(aws, &role, &source, out);
	}
	credentials_clear(&source);
	free(arn);
	free(session);
	free(external);
	free(seconds);
	free(token_file);
	return err;
}

static int profile_get(struct aws *aws, const char *profile, unsigned int depth, bool role,
		       struct credentials *out)
{
	int err = -ENOENT;

	if (depth > DEPTH_MAX) {
		aws_warn(aws, "profile %s: the chain of source profiles is too long", profile);
		return -ELOOP;
	}
	if (role)
		err = profile_assume_role(aws, profile, depth, out);
	if (err == -ENOENT)
		err = profile_get_keys(aws, profile, out);
	if (err == -ENOENT)
		err = profile_run_process(aws, profile, out);
	return err;
}

int credentials_profile(struct aws *aws, struct credentials *out)
{
	aws_forget_files(aws);
	return profile_get(aws, aws_profile(aws), 0, true, out);
}

int credentials_web(struct aws *aws, struct credentials *out)
{
	const char *path = environment_get(aws->environment, "AWS_WEB_IDENTITY_TOKEN_FILE");
	struct sts_role role = {
		.arn = environment_get(aws->environment, "AWS_ROLE_ARN"),
		.session = environment_get(aws->environment, "AWS_ROLE_SESSION_NAME"),
	};

	return path && role.arn ? profile_assume_with_token(aws, &role, path, out) : -ENOENT;
}
