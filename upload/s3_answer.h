/* What a store's answer means for a report. */
#ifndef UPLOAD_S3_ANSWER_H
#define UPLOAD_S3_ANSWER_H

/* What may be mended here, so that the next try does. */
enum s3_mend { S3_MEND_NOTHING, S3_MEND_CLOCK, S3_MEND_CREDENTIALS };

/* Judge an answer by its STATUS and its error CODE (NULL: none). Returns 0 where the report was
 * taken; -EAGAIN where the next try may do; -EACCES where the store refuses, and will refuse the
 * next report as well until somebody mends it; -EBADMSG where it will never take this one. */
int s3_judge(long status, const char *code, enum s3_mend *mend);

#endif
