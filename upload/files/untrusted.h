/* Words that come from outside, from settings, metadata services and servers, and are put into host
 * names, paths and headers: whether they are what they should be. */
#ifndef UPLOAD_FILES_UNTRUSTED_H
#define UPLOAD_FILES_UNTRUSTED_H

#include <stdbool.h>

enum outside {
	UNTRUSTED_REGION,  /* a label of a host name */
	UNTRUSTED_BUCKET,  /* labels of a host name, or a path's part */
	UNTRUSTED_ACCOUNT, /* a header's value */
	UNTRUSTED_ROLE,    /* a path's last part, as IAM has it */
	UNTRUSTED_MACHINE, /* an instance's id or a task's ARN */
};

/* Whether TEXT can be such a WORD and nothing else: no more of a host name, a path or a header than
 * one of its kind is. */
bool untrusted_is_valid(enum outside word, const char *text);

#endif
