/* What the doctor finds where profiles would go: directories, and the bucket. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "core/environment.h"
#include "decoder/commands/doctor.h"
#include "decoder/output/log_capture.h"
#include "upload/aws/aws.h"
#include "upload/aws/credentials.h"
#include "upload/aws/sigv4.h"
#include "upload/files/place.h"
#include "upload/http/http_curl.h"
#include "upload/s3/s3_target.h"

/* S3 refuses a request that is off by more than a quarter of an hour. */
#define SKEW_MAX_S 900

/* Who is asked whether a file may be written: the user of the process, if that is another. */
struct user {
	uid_t uid;
	gid_t gid;
};

static struct user user_of(const struct patient *p)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", p->pid);
	if (p->pid && !stat(path, &st))
		return (struct user){ st.st_uid, st.st_gid };
	return (struct user){ geteuid(), getegid() };
}

/* Whether a file can be made in the directory PATH: 0 or -errno. */
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

/* Likewise; of a directory that is not there, the first one above it that is. */
static int try_directory(const char *path)
{
	char above[2 * PATH_MAX];
	struct stat st;
	int err;

	snprintf(above, sizeof(above), "%s", path);
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

/* By the rights of USER, in the patient's root. */
static int try_as(const struct patient *p, const char *path, int (*try)(const char *))
{
	struct user user = user_of(p);
	char below[2 * PATH_MAX];
	int err;

	if (*path == '/')
		snprintf(below, sizeof(below), "%s%s", p->root, path);
	else if (p->pid)
		snprintf(below, sizeof(below), "/proc/%d/cwd/%s", p->pid, path);
	else
		snprintf(below, sizeof(below), "./%s", path);
	setfsgid(user.gid);
	setfsuid(user.uid);
	err = try(below);
	setfsuid(geteuid());
	setfsgid(getegid());
	return err;
}

static void add_directory_finding(struct patient *p, const char *variable, const char *path,
				  int err)
{
	const char *mend = "Make the directory, owned by the program's user, or name another.";

	if (err == -ENOSPC)
		mend = "Make room on its file system, or name another directory.";
	else if (err == -EROFS)
		mend = "Name a directory on a file system that can be written, as ReadWritePaths= "
		       "or "
		       "StateDirectory= of a unit, or a volume of a container.";
	doctor_add_finding(p, SEVERITY_STOP, NULL, mend, "%s%s%s: %s (as user %u)", variable,
			   *variable ? "=" : "", path, strerror(-err), user_of(p).uid);
}

/* The directory of the user's own must be just that. */
static int check_private(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? try_directory(path) : -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	return S_ISDIR(st.st_mode) ? try_file(path) : -ENOTDIR;
}

static void check_default_directory(struct patient *p)
{
	const char *parent = doctor_get_variable(p, "TMPDIR");
	struct user user = user_of(p);
	char path[PATH_MAX], below[2 * PATH_MAX];
	struct stat st;
	int err;

	if (!try_as(p, PLACE_SHARED, try_file))
		return;
	snprintf(path, sizeof(path), "%s/asprof-agent-%u", parent && *parent ? parent : "/tmp",
		 user.uid);
	snprintf(below, sizeof(below), "%s%s", p->root, path);
	err = try_as(p, path, check_private);
	if (err)
		add_directory_finding(p, "", path, err);
	else if (!lstat(below, &st) && (st.st_uid != user.uid || st.st_mode & 077))
		doctor_add_finding(
			p, SEVERITY_STOP, NULL, "Remove it, or set ASPROF_AGENT_LOCAL_DIR.",
			"%s belongs to another user, or others have access to it, so it is refused",
			path);
}

void doctor_directory(struct patient *p)
{
	int err;

	if (p->config.local_dir) {
		err = try_as(p, p->config.local_dir, try_directory);
		if (err)
			add_directory_finding(p, OPTION_PREFIX "LOCAL_DIR", p->config.local_dir,
					      err);
	} else if (!p->config.s3_bucket) {
		check_default_directory(p);
	}
}

void doctor_spool(struct patient *p)
{
	int err = p->config.spool_dir ? try_as(p, p->config.spool_dir, try_directory) : 0;

	if (err)
		add_directory_finding(p, OPTION_PREFIX "SPOOL_DIR", p->config.spool_dir, err);
}

/* --- the bucket ------------------------------------------------------------------------------ */

struct bucket_check {
	struct patient *patient;
	struct aws aws;
	struct environment environment;
	struct credentials_provider *provider;
	struct credentials credentials;
	struct s3_target target;
	bool has_credentials;
};

static int64_t now(void)
{
	return time(NULL);
}

static void find_credentials(struct bucket_check *v)
{
	char line[1024], last[1024] = "none are found";

	log_capture_start();
	v->has_credentials = !credentials_default(&v->provider, &v->aws) &&
			     !v->provider->get(v->provider, &v->credentials);
	if (v->has_credentials)
		return;
	while (log_capture_next_line(line, sizeof(line)))
		snprintf(last, sizeof(last), "%s", line);
	doctor_add_finding(
		v->patient, SEVERITY_STOP, "credentials",
		"Give the program's environment AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a "
		"profile, or a role of the instance, task or pod.",
		"%s", last);
}

/* List nothing of the bucket: whether the policy permits that does not matter, but an answer tells whether
 * it exists, where, who signed, and what time it is. */
static int bucket_check_request(struct bucket_check *v, struct http_response *response)
{
	struct http_request request = HTTP_REQUEST_INIT("GET", 5000, 15000);
	struct sigv4 sign = { .credentials = &v->credentials,
			      .region = v->target.region,
			      .service = "s3",
			      .now = now() };
	int err;

	request.proxy = v->patient->config.s3_proxy;
	err = buf_printf(&request.url, "%s?list-type=2&max-keys=0", v->target.base);
	if (!err && v->patient->config.s3_bucket_owner)
		err = http_request_header(&request, "x-amz-expected-bucket-owner", "%s",
					  v->patient->config.s3_bucket_owner);
	if (!err && v->has_credentials)
		err = sigv4_sign(&request, &sign);
	if (!err)
		err = v->aws.http->send(v->aws.http, &request, response);
	http_request_free(&request);
	return err;
}

static void bucket_check_clock(struct bucket_check *v, const struct http_response *response)
{
	int64_t ahead = now() - response->date;

	if (response->date && (ahead > SKEW_MAX_S || ahead < -SKEW_MAX_S))
		doctor_add_finding(v->patient, SEVERITY_NOTE, "clock", "timedatectl set-ntp true",
				   "the clock is %" PRId64
				   " s %s the store's: uploads allow for that, but "
				   "the times in profiles and their names are wrong",
				   ahead < 0 ? -ahead : ahead, ahead < 0 ? "behind" : "ahead of");
}

static const struct {
	const char *code, *mend;
	const char *name;
} refusals[] = {
	{ "NoSuchBucket", "Make the bucket, or correct ASPROF_AGENT_S3_BUCKET.", "bucket" },
	{ "InvalidBucketName", "Correct ASPROF_AGENT_S3_BUCKET.", "bucket" },
	{ "InvalidAccessKeyId", "Take keys that this store knows.", "credentials" },
	{ "SignatureDoesNotMatch", "Correct the secret key; it belongs to another key id.",
	  "credentials" },
	{ "ExpiredToken", "Get new temporary credentials.", "credentials" },
	{ "InvalidToken", "Get new temporary credentials.", "credentials" },
};

static void bucket_check_answer(struct bucket_check *v, const struct http_response *response)
{
	struct patient *p = v->patient;
	char *code = http_xml_text(response, "Code");
	size_t i;

	for (i = 0; code && i < sizeof(refusals) / sizeof(*refusals); i++)
		if (!strcmp(code, refusals[i].code))
			break;
	if (code && i < sizeof(refusals) / sizeof(*refusals))
		doctor_add_finding(p, SEVERITY_STOP, refusals[i].name, refusals[i].mend,
				   "%s answers %ld %s", v->target.base, response->status, code);
	else if (response->status == 404)
		doctor_add_finding(p, SEVERITY_STOP, NULL, refusals[0].mend,
				   "%s answers 404: there is none", v->target.base);
	else if (response->status >= 500)
		doctor_add_finding(p, SEVERITY_NOTE, NULL, "Wait, or look at the store.",
				   "%s answers %ld now; uploads are tried again", v->target.base,
				   response->status);
	if (response->region[0] && strcmp(response->region, v->target.region))
		doctor_add_finding(
			p, SEVERITY_NOTE, "region", "Set ASPROF_AGENT_S3_REGION to that.",
			"the bucket lies in %s, not in %s: each process finds that out by a "
			"request "
			"more",
			response->region, v->target.region);
	free(code);
}

static void bucket_check(struct bucket_check *v)
{
	struct http_response response = HTTP_RESPONSE_INIT;
	char problem[S3_TARGET_PROBLEM_SIZE] = "";
	int err;

	err = s3_target_find(&v->target, &v->aws, &v->patient->config, problem);
	if (err == -EDESTADDRREQ) {
		doctor_add_finding(
			v->patient, SEVERITY_STOP, "region",
			"Set ASPROF_AGENT_S3_REGION, or AWS_REGION, or with another store "
			"ASPROF_AGENT_S3_ENDPOINT.",
			"%s", problem);
		return;
	}
	if (err) {
		doctor_add_finding(
			v->patient, SEVERITY_STOP, NULL,
			"Correct the variable; `asprof-agent options` tells what each takes.", "%s",
			*problem ? problem : strerror(-err));
		return;
	}
	find_credentials(v);
	err = bucket_check_request(v, &response);
	if (err) {
		doctor_add_finding(
			v->patient, SEVERITY_STOP, NULL,
			"Look at the name, the network and, with https, the certificates; the only "
			"proxy is ASPROF_AGENT_S3_PROXY.",
			"%s cannot be reached: %s", v->target.base,
			response.problem[0] ? response.problem : strerror(-err));
	} else {
		bucket_check_clock(v, &response);
		bucket_check_answer(v, &response);
	}
	http_response_free(&response);
	s3_target_free(&v->target);
}

void doctor_bucket(struct patient *p)
{
	static const atomic_bool stop;
	struct bucket_check v = { .patient = p };
	sigset_t all, before;
	char *ca = NULL;

	if (!p->config.s3_bucket)
		return;
	sigfillset(&all);
	sigdelset(&all, SIGINT);
	sigdelset(&all, SIGTERM);
	sigprocmask(SIG_BLOCK, &all, &before);
	v.aws.now = now;
	v.aws.region = p->config.s3_region;
	v.aws.environment = &v.environment;
	log_capture_start();
	if (environment_copy(&v.environment, p->environment))
		goto out;
	ca = aws_ca_file(&v.aws);
	if (!http_curl_open(&v.aws.http, ca, &stop))
		bucket_check(&v);
	credentials_clear(&v.credentials);
	if (v.provider)
		v.provider->destroy(v.provider);
	if (v.aws.http)
		v.aws.http->close(v.aws.http);
	aws_free(&v.aws);
	environment_free(&v.environment);
out:
	free(ca);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
