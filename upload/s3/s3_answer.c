/* Meaning of a store's response, by error code and status. */
#include "upload/s3/s3_answer.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "core/options/config.h"

#define CHECK_KEYS "are the access key and its secret right?"
#define ELSEWHERE                                                       \
	"the bucket has another region or endpoint; see " OPTION_PREFIX \
	"S3_REGION and " OPTION_PREFIX "S3_ENDPOINT"

/* Error codes with a meaning of their own; see "Error responses" in the S3 reference. */
static const struct {
	const char *code;
	struct s3_verdict verdict;
} codes[] = {
	{ "RequestTimeTooSkewed", { -EAGAIN, S3_MEND_CLOCK, "this machine's clock is wrong" } },
	{ "RequestExpired", { -EAGAIN, S3_MEND_CLOCK, "this machine's clock is wrong" } },
	{ "ExpiredToken", { -EAGAIN, S3_MEND_CREDENTIALS, NULL } },
	{ "ExpiredTokenException", { -EAGAIN, S3_MEND_CREDENTIALS, NULL } },
	{ "TokenRefreshRequired", { -EAGAIN, S3_MEND_CREDENTIALS, NULL } },
	{ "InvalidToken", { -EACCES, S3_MEND_CREDENTIALS, NULL } },
	{ "InvalidAccessKeyId", { -EACCES, S3_MEND_CREDENTIALS, CHECK_KEYS } },
	{ "SignatureDoesNotMatch", { -EACCES, S3_MEND_CREDENTIALS, CHECK_KEYS } },
	{ "RequestTimeout", { -EAGAIN, S3_MEND_NOTHING, NULL } },
	{ "SlowDown", { -EAGAIN, S3_MEND_NOTHING, NULL } },
	{ "Throttling", { -EAGAIN, S3_MEND_NOTHING, NULL } },
	{ "ThrottlingException", { -EAGAIN, S3_MEND_NOTHING, NULL } },
	{ "RequestLimitExceeded", { -EAGAIN, S3_MEND_NOTHING, NULL } },
	{ "OperationAborted", { -EAGAIN, S3_MEND_NOTHING, NULL } },
	/* The body was changed in transit. */
	{ "BadDigest", { -EAGAIN, S3_MEND_NOTHING, NULL } },
	{ "XAmzContentSHA256Mismatch", { -EAGAIN, S3_MEND_NOTHING, NULL } },
	{ "ConditionalRequestConflict", { -EAGAIN, S3_MEND_NOTHING, NULL } },
	{ "PreconditionFailed", { -EEXIST, S3_MEND_NOTHING, NULL } },
	/* Some stores reject if-none-match, which protects existing keys, instead of ignoring
	 * it. */
	{ "NotImplemented", { -EACCES, S3_MEND_CONDITION, NULL } },
	{ "InvalidArgument", { -EACCES, S3_MEND_CONDITION, NULL } },
	{ "InvalidRequest", { -EACCES, S3_MEND_CONDITION, NULL } },
	{ "PermanentRedirect", { -EACCES, S3_MEND_NOTHING, ELSEWHERE } },
	{ "TemporaryRedirect", { -EACCES, S3_MEND_NOTHING, ELSEWHERE } },
	{ "AuthorizationHeaderMalformed", { -EACCES, S3_MEND_NOTHING, ELSEWHERE } },
	{ "IllegalLocationConstraintException", { -EACCES, S3_MEND_NOTHING, ELSEWHERE } },
	{ "AccessDenied",
	  { -EACCES, S3_MEND_NOTHING, "the credentials must allow s3:PutObject there" } },
	{ "NoSuchBucket", { -EACCES, S3_MEND_NOTHING, "see " OPTION_PREFIX "S3_BUCKET" } },
	{ "InvalidBucketName", { -EACCES, S3_MEND_NOTHING, "see " OPTION_PREFIX "S3_BUCKET" } },
	{ "EntityTooLarge",
	  { -EBADMSG, S3_MEND_NOTHING, "the report is too large for the store" } },
	{ "KeyTooLongError",
	  { -EBADMSG, S3_MEND_NOTHING,
	    "the report's key is too long for the store; see " OPTION_PREFIX
	    "S3_PREFIX and " OPTION_PREFIX "PROFILING_GROUP" } },
	{ "InvalidURI",
	  { -EBADMSG, S3_MEND_NOTHING,
	    "the store rejects the report's key; see " OPTION_PREFIX "S3_PREFIX and " OPTION_PREFIX
	    "PROFILING_GROUP" } },
};

/* Other responses by status, from FROM to TO inclusive. */
static const struct {
	long from, to;
	struct s3_verdict verdict;
} statuses[] = {
	{ 200, 299, { 0, S3_MEND_NOTHING, NULL } },
	{ 301, 308, { -EACCES, S3_MEND_NOTHING, ELSEWHERE } },
	{ 400, 400, { -EACCES, S3_MEND_CONDITION, NULL } },
	{ 412, 412, { -EEXIST, S3_MEND_NOTHING, NULL } },
	{ 501, 501, { -EACCES, S3_MEND_CONDITION, NULL } },
	{ 408, 409, { -EAGAIN, S3_MEND_NOTHING, NULL } },
	{ 413, 413, { -EBADMSG, S3_MEND_NOTHING, "the report is too large for the store" } },
	{ 414, 414, { -EBADMSG, S3_MEND_NOTHING, "the report's key is too long for the store" } },
	{ 429, 429, { -EAGAIN, S3_MEND_NOTHING, NULL } },
	{ 500, 599, { -EAGAIN, S3_MEND_NOTHING, NULL } },
	{ 0, 999, { -EACCES, S3_MEND_NOTHING, NULL } },
};

struct s3_verdict s3_judge(long status, const char *code)
{
	size_t i;

	if (status >= 200 && status < 300)
		code = NULL;
	for (i = 0; code && i < sizeof(codes) / sizeof(codes[0]); i++)
		if (!strcmp(codes[i].code, code))
			return codes[i].verdict;
	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]) - 1; i++)
		if (status >= statuses[i].from && status <= statuses[i].to)
			break;
	return statuses[i].verdict;
}
