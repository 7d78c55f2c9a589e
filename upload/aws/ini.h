/* Parser of the AWS tools' config and credentials files. */
#ifndef UPLOAD_AWS_INI_H
#define UPLOAD_AWS_INI_H

#include <stddef.h>

/* Find KEY in the sections SECTION of TEXT, which need not end with a NUL. A nested key such as
 *
 *	s3 =
 *	  addressing_style = path
 *
 * has the name "s3.addressing_style". The last definition of a key counts. Returns the value,
 * malloc'd, or NULL if it is missing or empty. */
char *ini_get(const char *text, size_t length, const char *section, const char *key);

#endif
