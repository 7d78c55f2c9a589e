/* Times as web services write them. */
#ifndef UPLOAD_AWS_INSTANT_H
#define UPLOAD_AWS_INSTANT_H

#include <stdint.h>

/* Read "2026-11-21T02:10:00Z", with or without a fraction, or with an offset in Z's place, as
 * seconds since 1970. Returns 0 or -EINVAL. */
int instant_parse(const char *text, int64_t *seconds);

#endif
