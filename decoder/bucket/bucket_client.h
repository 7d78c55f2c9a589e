/* S3 client that lists a bucket and fetches its objects. It shares the uploads' code: settings, credentials,
 * signatures, redirects to another region, correction of clock skew. Transient errors are retried, with the
 * uploads' backoff. Errors are printed as one message. */
#ifndef DECODER_BUCKET_BUCKET_CLIENT_H
#define DECODER_BUCKET_BUCKET_CLIENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/options/config.h"
#include "decoder/bucket/objects.h"
#include "upload/http/http.h"

/* Client for one thread. */
struct bucket_client;

/* Open a client for BUCKET with the given ACCESS, and ASPROF_AGENT_S3_* for what it does not set.
 * Once *STOP is true, requests end with -ECANCELED. Returns 0 (release with bucket_client_close), or -errno after a
 * message. */
int bucket_client_open(struct bucket_client **out, const char *bucket,
		       const struct bucket_access *access, const atomic_bool *stop);

/* Create a client of the same bucket for another thread. It shares the credentials of OF, which must have completed a
 * request and must outlive the new client. Returns 0 or -ENOMEM. */
int bucket_client_clone(struct bucket_client **out, struct bucket_client *of);

void bucket_client_close(struct bucket_client *client);

/* Returns the URL of the bucket by the settings. It ends in "/". */
const char *bucket_client_base(const struct bucket_client *client);

/* Add the recordings whose names begin with PREFIX to OUT. EACH is called after every page with the number of names
 * so far. Returns 0, or -errno after a message. */
int bucket_client_list(struct bucket_client *client, const char *prefix, struct objects *out,
		       void (*each)(void *arg, uint64_t names), void *arg);

/* Write OBJECT into FD, an empty file open for reading and writing. Its length is checked, and its SHA-256 if the
 * object's metadata has it.
 * Returns 0; -EACCES if other objects would be refused too; or another -errno. A message is printed except for
 * -ECANCELED. */
int bucket_client_fetch(struct bucket_client *client, const struct object *object, int fd);

/* Hooks for tests. SEND creates the HTTP client; PAUSE replaces sleeping; LIST_MAX limits the bytes of a list. */
struct bucket_client_hooks {
	char *const *environment;
	int (*send)(struct http **out, const char *ca_file, const atomic_bool *stop);
	int64_t (*now)(void);
	void (*pause)(uint64_t ns, const atomic_bool *stop);
	uint64_t list_max;
};
int bucket_client_open_with(struct bucket_client **out, const char *bucket,
			    const struct bucket_access *access, const atomic_bool *stop,
			    const struct bucket_client_hooks *hooks);

#endif
