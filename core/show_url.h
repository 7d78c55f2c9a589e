/* URLs in lines that people read. */
#ifndef CORE_SHOW_URL_H
#define CORE_SHOW_URL_H

#include <stddef.h>

#define SHOW_URL_SIZE 256

/* Copy TEXT, a URL or what was meant to be one, into OUT without what may be secret in it: the user's
 * name and password, the query and the fragment. Cut where it is too long. Returns OUT. */
const char *show_url(char out[SHOW_URL_SIZE], const char *text);

#endif
