/* Checks of the doctor: directories and the bucket. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "decoder/doctor/doctor.h"
#include "decoder/output/log_capture.h"
#include "upload/aws/credentials.h"
#include "upload/aws/sigv4.h"
#include "upload/files/place.h"
#include "upload/s3/s3_target.h"

/* S3 rejects requests with a clock skew of more than a quarter of an hour. */
#define SKEW_MAX_S 900

/* Try to create a file in the directory PATH. Returns 0 or -errno. */
static int try_file(const char *path)
{
	char name[2 * PATH_MAX + 64];
	struct statvfs fs;
	int fd;

	snprintf(name, sizeof(name), "%s/.asprof-agent-doctor-%d", path, getpid());
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	unlink(name);
	close(fd);
	return !statvfs(path, &fs) && fs.f_blocks && !fs.f_bavail ? -ENOSPC : 0;
}

/* Like try_file(); if PATH does not exist, try its first existing parent. */
static int try_directory(const char *path)
{
	char above[2 * PATH_MAX];
	struct stat st;
	int err;

	snprintf(above, sizeof(above), "%s%s", *path == '/' ? "" : "./", path);
	while (stat(above, &st)) {
		err = -errno;
		if (err != -ENOENT || !strrchr(above, '/'))
			return err;
		*strrchr(above, '/') = '\0';
		if (!*above)
			strcpy(above, "/");
	}
	return S_ISDIR(st.st_mode) ? try_file(above) : -ENOTDIR;
}

static void add_directory_finding(struct doctor_subject *p, const char *variable, const char *path,
				  int err)
{
	const char *remedy = "Make the directory, owned by the program's user, or name another.";

	if (err == -ENOSPC)
		remedy = "Free space on its file system, or name another directory.";
	else if (err == -EROFS)
		remedy = "Name a directory on a writable file system, like ReadWritePaths= or "
			 "StateDirectory= of a unit, or a volume of a container.";
	doctor_add_finding(p, SEVERITY_STOP, NULL, remedy, "%s%s%s: %s (as user %u)", variable,
			   *variable ? "=" : "", path, strerror(-err), geteuid());
}

/* Check the user's own directory, which must not be a symbolic link. */
static int check_private(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? try_directory(path) : -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	return S_ISDIR(st.st_mode) ? try_file(path) : -ENOTDIR;
}

static void check_default_directory(struct doctor_subject *p)
{
	const char *parent = doctor_get_variable(p, "TMPDIR");
	char path[PATH_MAX];
	struct stat st;
	int err;

	if (!try_file(PLACE_SHARED))
		return;
	snprintf(path, sizeof(path), "%s/asprof-agent-%u", parent && *parent ? parent : "/tmp",
		 geteuid());
	err = check_private(path);
	if (err)
		add_directory_finding(p, "", path, err);
	else if (!lstat(path, &st) && (st.st_uid != geteuid() || st.st_mode & 077))
		doctor_add_finding(
			p, SEVERITY_STOP, NULL, "Remove it, or set ASPROF_AGENT_LOCAL_DIR.",
			"%s belongs to another user, or others have access to it, so it is refused",
			path);
}

void doctor_directory(struct doctor_subject *p)
{
	int err;

	if (p->config.local_dir) {
		err = try_directory(p->config.local_dir);
		if (err)
			add_directory_finding(p, OPTION_PREFIX "LOCAL_DIR", p->config.local_dir,
					      err);
	} else if (!p->config.s3_bucket) {
		check_default_directory(p);
	}
}

void doctor_spool(struct doctor_subject *p)
{
	int err = p->config.spool_dir ? try_directory(p->config.spool_dir) : 0;

	if (err)
		add_directory_finding(p, OPTION_PREFIX "SPOOL_DIR", p->config.spool_dir, err);
}

/* --- the bucket ------------------------------------------------------------------------------ */

struct bucket_check {
	struct doctor_subject *subject;
	struct doctor_network network;
	struct credentials_provider *provider;
	struct credentials credentials;
	struct s3_target target;
	bool has_credentials;
};

/* Get the credentials. Returns false if the store cannot be asked, because another user's programs would have to
 * run. */
static bool bucket_check_credentials(struct bucket_check *v)
{
	char line[1024], last[1024] = "none are found";
	int err;

	log_capture_start();
	err = credentials_default(&v->provider, &v->network.aws);
	if (!err)
		err = v->provider->get(v->provider, &v->credentials);
	v->has_credentials = !err;
	if (v->has_credentials)
		return true;
	while (log_capture_next_line(line, sizeof(line)))
		snprintf(last, sizeof(last), "%s", line);
	if (v->network.aws.refused_program) {
		doctor_add_finding(v->subject, SEVERITY_NOTE, "credentials",
				   "Run doctor with the process's environment, as its user.", "%s",
				   last);
		return false;
	}
	doctor_add_finding(
		v->subject, SEVERITY_STOP, "credentials",
		"Give the program's environment AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a "
		"profile, or a role of the instance, task or pod.",
		"%s", last);
	return true;
}

/* List zero objects of the bucket. Even an error answer shows whether the bucket exists, its region, whether the
 * signature is valid, and the store's time. */
static int bucket_check_request(struct bucket_check *v, struct http_response *response)
{
	struct http_request request = HTTP_REQUEST_INIT("GET", 5000, 15000);
	struct sigv4 sign = { .credentials = &v->credentials,
			      .region = v->target.region,
			      .service = "s3",
			      .now = v->network.aws.now() };
	int err;

	request.proxy = v->subject->config.s3_proxy;
	err = buf_printf(&request.url, "%s?list-type=2&max-keys=0", v->target.base);
	if (!err && v->subject->config.s3_bucket_owner)
		err = http_request_header(&request, "x-amz-expected-bucket-owner", "%s",
					  v->subject->config.s3_bucket_owner);
	if (!err && v->has_credentials)
		err = sigv4_sign(&request, &sign);
	if (!err)
		err = v->network.aws.http->send(v->network.aws.http, &request, response);
	http_request_free(&request);
	return err;
}

static void bucket_check_clock(struct bucket_check *v, const struct http_response *response)
{
	int64_t ahead = v->network.aws.now() - response->date;

	if (response->date && (ahead > SKEW_MAX_S || ahead < -SKEW_MAX_S))
		doctor_add_finding(v->subject, SEVERITY_NOTE, "clock", "timedatectl set-ntp true",
				   "the clock is %" PRId64
				   " s %s the store's: uploads allow for that, but the times in "
				   "profiles and in their names are wrong",
				   ahead < 0 ? -ahead : ahead, ahead < 0 ? "behind" : "ahead of");
}

static const struct {
	const char *code, *remedy;
	const char *name;
} refusals[] = {
	{ "NoSuchBucket", "Make the bucket, or correct ASPROF_AGENT_S3_BUCKET.", "bucket" },
	{ "InvalidBucketName", "Correct ASPROF_AGENT_S3_BUCKET.", "bucket" },
	{ "InvalidAccessKeyId", "Use keys of this store.", "credentials" },
	{ "SignatureDoesNotMatch", "Correct the secret key; it belongs to another key ID.",
	  "credentials" },
	{ "ExpiredToken", "Get new temporary credentials.", "credentials" },
	{ "InvalidToken", "Get new temporary credentials.", "credentials" },
};

static void bucket_check_answer(struct bucket_check *v, const struct http_response *response)
{
	struct doctor_subject *p = v->subject;
	char *code = http_xml_text(response, "Code");
	size_t i;

	for (i = 0; code && i < sizeof(refusals) / sizeof(*refusals); i++)
		if (!strcmp(code, refusals[i].code))
			break;
	if (code && i < sizeof(refusals) / sizeof(*refusals))
		doctor_add_finding(p, SEVERITY_STOP, refusals[i].name, refusals[i].remedy,
				   "%s answers %ld %s", v->target.base, response->status, code);
	else if (response->status == 404)
		doctor_add_finding(p, SEVERITY_STOP, NULL, refusals[0].remedy,
				   "%s answers 404: no such bucket", v->target.base);
	else if (response->status >= 500)
		doctor_add_finding(p, SEVERITY_NOTE, NULL, "Wait, or check the store.",
				   "%s answers %ld now; uploads are tried again", v->target.base,
				   response->status);
	if (response->region[0] && strcmp(response->region, v->target.region))
		doctor_add_finding(
			p, SEVERITY_NOTE, "region", "Set ASPROF_AGENT_S3_REGION to that region.",
			"the bucket is in %s, not in %s: each process needs one more request "
			"to find that out",
			response->region, v->target.region);
	free(code);
}

static void bucket_check_run(struct bucket_check *v)
{
	struct http_response response = HTTP_RESPONSE_INIT;
	char problem[S3_TARGET_PROBLEM_SIZE] = "";
	int err;

	err = s3_target_find(&v->target, &v->network.aws, &v->subject->config, problem);
	if (err == -EDESTADDRREQ) {
		doctor_add_finding(
			v->subject, SEVERITY_STOP, "region",
			"Set ASPROF_AGENT_S3_REGION, or AWS_REGION, or with another store "
			"ASPROF_AGENT_S3_ENDPOINT.",
			"%s", problem);
		return;
	}
	if (err) {
		doctor_add_finding(
			v->subject, SEVERITY_STOP, NULL,
			"Correct the variable; `asprof-agent options` lists accepted values.", "%s",
			*problem ? problem : strerror(-err));
		return;
	}
	if (!bucket_check_credentials(v)) {
		s3_target_free(&v->target);
		return;
	}
	err = bucket_check_request(v, &response);
	if (err) {
		doctor_add_finding(
			v->subject, SEVERITY_STOP, NULL,
			"Check the name, the network and, with https, the certificates; a proxy "
			"must be set by ASPROF_AGENT_S3_PROXY.",
			"%s cannot be reached: %s", v->target.base,
			response.problem[0] ? response.problem : strerror(-err));
	} else {
		bucket_check_clock(v, &response);
		bucket_check_answer(v, &response);
	}
	http_response_free(&response);
	s3_target_free(&v->target);
}

void doctor_bucket(struct doctor_subject *p)
{
	struct bucket_check v = { .subject = p };

	if (!p->config.s3_bucket || doctor_network_open(&v.network, p))
		return;
	v.network.aws.region = p->config.s3_region;
	bucket_check_run(&v);
	credentials_clear(&v.credentials);
	if (v.provider)
		v.provider->destroy(v.provider);
	doctor_network_close(&v.network);
}
