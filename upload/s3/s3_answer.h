/* What a store's answer means for a report. */
#ifndef UPLOAD_S3_S3_ANSWER_H
#define UPLOAD_S3_S3_ANSWER_H

/* What may be mended here, so that the next try does. */
enum s3_mend { S3_MEND_NOTHING, S3_MEND_CLOCK, S3_MEND_CREDENTIALS, S3_MEND_CONDITION };

struct s3_verdict {
	/* 0: the report was taken. -EAGAIN: the next try may do. -EACCES: refused, as the next
	 * report would be, until somebody mends it there: a bucket that is not made yet, a policy
	 * that is on its way. -EBADMSG: this one will never be taken. -EEXIST: its name is. */
	int err;
	enum s3_mend mend;
	const char *words; /* what an operator can do, beyond the store's own words; NULL: none */
};

/* Judge an answer by its STATUS and its error CODE (NULL: none). */
struct s3_verdict s3_judge(long status, const char *code);

#endif
