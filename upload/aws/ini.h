/* The AWS tools' config and credentials files. */
#ifndef UPLOAD_AWS_INI_H
#define UPLOAD_AWS_INI_H

#include <stddef.h>

/* Find KEY in the sections called SECTION of TEXT, which need not be NUL-terminated. A key
 * that is nested, as
 *
 *	s3 =
 *	  addressing_style = path
 *
 * is called "s3.addressing_style". Where a key is there more than once, the last one counts.
 * Returns the value, malloc'd, or NULL when it is missing or empty. */
char *ini_get(const char *text, size_t length, const char *section, const char *key);

#endif
