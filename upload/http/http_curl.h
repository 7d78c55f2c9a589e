/* Sends HTTP requests with libcurl: the one place that knows it. */
#ifndef UPLOAD_HTTP_HTTP_CURL_H
#define UPLOAD_HTTP_HTTP_CURL_H

#include <stdatomic.h>

#include "upload/http/http.h"

/* Make a sender for one thread, which has every signal blocked. CA_FILE verifies servers; NULL
 * takes the system's, found when the first https request is sent. Once *STOP is true, what is
 * under way ends with -ECANCELED within a second.
 * Returns 0 and sets *OUT (release with its close), or -errno. */
int http_curl_open(struct http **out, const char *ca_file, const atomic_bool *stop);

#endif
