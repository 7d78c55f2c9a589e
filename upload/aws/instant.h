/* Parser of the times of web services: RFC 3339. */
#ifndef UPLOAD_AWS_INSTANT_H
#define UPLOAD_AWS_INSTANT_H

#include <stdint.h>

/* Parse "2026-11-21T02:10:00Z" into seconds since 1970. A fraction is allowed, and an offset
 * instead of Z. Returns 0 or -EINVAL. */
int instant_parse(const char *text, int64_t *seconds);

#endif
