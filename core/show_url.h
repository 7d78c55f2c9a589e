/* URLs for logs and status output, without secrets. */
#ifndef CORE_SHOW_URL_H
#define CORE_SHOW_URL_H

#define SHOW_URL_SIZE 256

/* Copy TEXT, a valid or invalid URL, to OUT without parts that may be secret: user name, password, query and
 * fragment. A longer text is truncated. Returns OUT. */
const char *show_url(char out[SHOW_URL_SIZE], const char *text);

#endif
