/* What all that speaks to AWS shares: the environment, the shared config files, how requests
 * are sent, and what time it is. */
#ifndef UPLOAD_AWS_AWS_H
#define UPLOAD_AWS_AWS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buf.h"
#include "core/environment.h"
#include "upload/http/http.h"

struct aws {
	const struct environment *environment;
	struct http *http;
	int64_t (*now)(void);    /* seconds since 1970 */
	int64_t skew;            /* what the servers' clock is ahead of now() */
	const char *region;      /* as configured; NULL: to be found */
	const atomic_bool *stop; /* once true, what takes long ends soon; NULL: never */

	/* The rest is filled in as it is asked for: by aws.c, the region by region.c. */
	bool files_read;
	struct buf config, credentials;
	char *found_region;
	uint32_t said[8]; /* hashes of warnings */
	size_t warned_count;
};

/* Start with all but the last part set and the rest zero; this releases what was read. */
void aws_free(struct aws *aws);

/* Read the shared files anew when they are next asked: keys in them may have been exchanged. */
void aws_forget_files(struct aws *aws);

/* Seconds since 1970, by the servers' clock. */
int64_t aws_now(const struct aws *aws);

/* log_warn(), but each line once until all is well again: what fails is tried over and over. Nothing
 * once it is to stop: what fails then was made to. */
void aws_warn(struct aws *aws, const char *format, ...) __attribute__((format(printf, 2, 3)));
void aws_reset_warnings(struct aws *aws);

/* The profile in use: AWS_PROFILE, AWS_DEFAULT_PROFILE or "default". */
const char *aws_profile(const struct aws *aws);

/* KEY of PROFILE in the credentials file, else in the config file: malloc'd, or NULL. */
char *aws_profile_get(struct aws *aws, const char *profile, const char *key);

/* The value of the environment's NAME, else of the profile's KEY: malloc'd, or NULL. */
char *aws_setting(struct aws *aws, const char *name, const char *key);

/* Whether that is VALUE, in upper or lower case. */
bool aws_setting_is(struct aws *aws, const char *name, const char *key, const char *value);

/* The endpoint set for SERVICE ("s3", "sts"), as AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the
 * profile's services section or its endpoint_url: malloc'd, or NULL. */
char *aws_endpoint(struct aws *aws, const char *service);

/* The file of certificate authorities that is set, by AWS_CA_BUNDLE, the profile's ca_bundle or
 * SSL_CERT_FILE: malloc'd, or NULL. */
char *aws_ca_file(struct aws *aws);

#endif
