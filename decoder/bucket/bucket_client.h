/* A bucket to read from, by the code that uploads to it: the same settings, credentials and signatures,
 * a bucket that lies elsewhere followed, a wrong clock allowed for. What a try later may mend is tried
 * again, with the pauses of uploads. What is wrong is said in one line. */
#ifndef DECODER_BUCKET_BUCKET_CLIENT_H
#define DECODER_BUCKET_BUCKET_CLIENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/options/config.h"
#include "decoder/bucket/objects.h"
#include "upload/http/http.h"

/* For one thread. */
struct client;

/* A client for BUCKET, reached as REACH says, and else as ASPROF_AGENT_S3_* say. Once *STOP is
 * true, what is under way ends with -ECANCELED.
 * Returns 0 (release with bucket_client_close), or -errno after a line. */
int bucket_client_open(struct client **out, const char *bucket, const struct reach *reach,
		       const atomic_bool *stop);

/* Another for the same bucket and another thread, which shares the credentials of OF; OF must have been
 * used, and outlive it. Returns 0 or -ENOMEM. */
int bucket_client_clone(struct client **out, struct client *of);

void bucket_client_close(struct client *client);

/* Where the bucket is by the settings: a URL that ends in "/". */
const char *bucket_client_base(const struct client *client);

/* Add the recordings whose names begin with PREFIX to OUT. EACH is told after every page how many names there were.
 * Returns 0, or -errno after a line. */
int bucket_client_list(struct client *client, const char *prefix, struct objects *out,
		       void (*each)(void *arg, uint64_t names), void *arg);

/* Write OBJECT into FD, an empty file that can be written and read. What came is checked by its length
 * and, where its metadata tells that, by its SHA-256.
 * Returns 0; -EACCES after a line where the next object would be refused as well; or another -errno
 * after a line (but -ECANCELED). */
int bucket_client_fetch(struct client *client, const struct object *object, int fd);

/* What was received, in bytes. */
uint64_t client_received(const struct client *client);

/* For tests: by SEND, which makes what sends the requests, and PAUSE in the place of sleeping. */
struct bucket_client_hooks {
	char *const *environment;
	int (*send)(struct http **out, const char *ca_file, const atomic_bool *stop);
	int64_t (*now)(void);
	void (*pause)(uint64_t ns, const atomic_bool *stop);
};
int bucket_client_open_with(struct client **out, const char *bucket, const struct reach *reach,
			    const atomic_bool *stop, const struct bucket_client_hooks *means);

#endif
