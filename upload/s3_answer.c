/* What a store's answer means for a report, by status and error code. */
#include "upload/s3_answer.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* The error codes with a meaning of their own; the "Error responses" of the S3 reference. */
static const struct {
	const char *code;
	int err;
	enum s3_mend mend;
} codes[] = {
	{ "RequestTimeTooSkewed", -EAGAIN, S3_MEND_CLOCK },
	{ "RequestExpired", -EAGAIN, S3_MEND_CLOCK },
	{ "ExpiredToken", -EAGAIN, S3_MEND_CREDENTIALS },
	{ "ExpiredTokenException", -EAGAIN, S3_MEND_CREDENTIALS },
	{ "TokenRefreshRequired", -EAGAIN, S3_MEND_CREDENTIALS },
	{ "InvalidToken", -EACCES, S3_MEND_CREDENTIALS },
	{ "InvalidAccessKeyId", -EACCES, S3_MEND_CREDENTIALS },
	{ "RequestTimeout", -EAGAIN, S3_MEND_NOTHING },
	{ "SlowDown", -EAGAIN, S3_MEND_NOTHING },
	{ "Throttling", -EAGAIN, S3_MEND_NOTHING },
	{ "ThrottlingException", -EAGAIN, S3_MEND_NOTHING },
	{ "RequestLimitExceeded", -EAGAIN, S3_MEND_NOTHING },
	{ "OperationAborted", -EAGAIN, S3_MEND_NOTHING },
	{ "BadDigest", -EAGAIN, S3_MEND_NOTHING }, /* changed on its way */
	{ "XAmzContentSHA256Mismatch", -EAGAIN, S3_MEND_NOTHING },
	{ "EntityTooLarge", -EBADMSG, S3_MEND_NOTHING },
	{ "KeyTooLongError", -EBADMSG, S3_MEND_NOTHING },
};

int s3_judge(long status, const char *code, enum s3_mend *mend)
{
	*mend = S3_MEND_NOTHING;
	if (status >= 200 && status < 300)
		return 0;
	for (size_t i = 0; code && i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (strcmp(codes[i].code, code) != 0)
			continue;
		*mend = codes[i].mend;
		return codes[i].err;
	}
	return status >= 500 || status == 408 || status == 429 ? -EAGAIN : -EACCES;
}
