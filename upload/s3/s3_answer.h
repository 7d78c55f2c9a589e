/* Meaning of a store's response for a report. */
#ifndef UPLOAD_S3_S3_ANSWER_H
#define UPLOAD_S3_S3_ANSWER_H

/* What the client can correct so that a retry may succeed. */
enum s3_mend { S3_MEND_NOTHING, S3_MEND_CLOCK, S3_MEND_CREDENTIALS, S3_MEND_CONDITION };

struct s3_verdict {
	/* 0: accepted. -EAGAIN: a retry may succeed. -EACCES: refused, like later reports, until
	 * an operator corrects the cause (bucket missing, policy not active yet). -EBADMSG: this
	 * report can never be accepted. -EEXIST: the key exists. */
	int err;
	enum s3_mend mend;
	const char *words; /* advice for the operator, beyond the store's; NULL: none */
};

/* Interpret a response by its STATUS and its error CODE (NULL: none). */
struct s3_verdict s3_judge(long status, const char *code);

#endif
