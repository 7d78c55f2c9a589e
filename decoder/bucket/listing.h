/* One page of what lies in a bucket: the answer to S3's ListObjectsV2. */
#ifndef DECODER_BUCKET_LISTING_H
#define DECODER_BUCKET_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A page of a thousand objects with the longest names, each of their bytes written as three. */
#define LISTING_MAX (8u << 20)

struct listed {
	const char *key;
	const char *etag; /* as headers have it, with its quotes; "": none */
	uint64_t bytes;
	int64_t modified; /* seconds since 1970; 0: not told */
	bool frozen;      /* in a storage class from which it must be restored before it is read */
};

struct listing {
	char *token; /* what to ask for the next page with, malloc'd; NULL: this is the last */

	/* What was wrong with the page, and at which byte of it. */
	const char *problem;
	size_t offset;
};

/* Call EACH for every object in XML, in the page's order; a value other than 0 ends it and is returned.
 * What each is given is valid during the call.
 *
 * The page is an XML document of which only what such answers have is taken: no document type, no
 * processing instruction but the declaration in front, no comment, no marked section, and no entity
 * but XML's own five. Elements that are not known are passed over. Nothing is called for a page that
 * is not whole.
 * Returns 0 with OUT->token; -EBADMSG with OUT->problem; or -ENOMEM. */
int listing_read(struct listing *out, const void *xml, size_t length,
		 int (*each)(void *arg, const struct listed *object), void *arg);

#endif
