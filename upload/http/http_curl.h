/* HTTP sender that uses libcurl; the only module that depends on it. */
#ifndef UPLOAD_HTTP_HTTP_CURL_H
#define UPLOAD_HTTP_HTTP_CURL_H

#include <stdatomic.h>

#include "upload/http/http.h"

/* Open a sender for one thread, which blocks all signals. CA_FILE verifies servers; NULL uses
 * the system's bundle, loaded for the first https request. Once *STOP is true, a request in
 * progress ends with -ECANCELED within a second. Returns 0 and sets *OUT (release with its
 * close), or -errno. */
int http_curl_open(struct http **out, const char *ca_file, const atomic_bool *stop);

#endif
