/* Parser of one page of a bucket's listing: the answer to S3's ListObjectsV2. */
#ifndef DECODER_BUCKET_LISTING_H
#define DECODER_BUCKET_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limit of a page: a thousand objects with the longest names, three characters for each byte. */
#define LISTING_MAX (8u << 20)

struct listing_entry {
	const char *key;
	const char *etag; /* with quotes, as in HTTP headers; "": none */
	uint64_t bytes;
	int64_t modified; /* seconds since 1970; 0: unknown */
	bool is_frozen;   /* its storage class requires a restore before it can be read */
};

struct listing {
	char *token; /* for the request of the next page, malloc'd; NULL: last page */

	/* Description and byte offset of an error. */
	const char *problem;
	size_t offset;
};

/* Parse XML and call EACH for every object, in the page's order. A result of EACH other than 0 ends the parsing and is
 * returned. The object is valid during the call.
 *
 * Only the XML of such answers is accepted: no document type, no processing instruction except the XML declaration, no
 * comment, no CDATA section, only the five predefined entities. Unknown elements are skipped. EACH is not called for an
 * incomplete page.
 * Returns 0 with OUT->token; -EBADMSG with OUT->problem; or -ENOMEM. */
int listing_read(struct listing *out, const void *xml, size_t length,
		 int (*each)(void *arg, const struct listing_entry *object), void *arg);

#endif
