/* Checks of untrusted words. They come from settings, metadata services and servers, and go into
 * host names, paths and headers. */
#ifndef UPLOAD_FILES_UNTRUSTED_H
#define UPLOAD_FILES_UNTRUSTED_H

#include <stdbool.h>

enum untrusted {
	UNTRUSTED_REGION,  /* one label of a host name */
	UNTRUSTED_BUCKET,  /* labels of a host name, or a path segment */
	UNTRUSTED_ACCOUNT, /* a header value */
	UNTRUSTED_ROLE,    /* the last segment of a path, by the rules of IAM */
	UNTRUSTED_MACHINE, /* an instance id or a task ARN */
};

/* True if TEXT is a valid word of kind WORD. It then cannot add another part to a host name,
 * path or header. */
bool untrusted_is_valid(enum untrusted word, const char *text);

#endif
