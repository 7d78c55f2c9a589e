/* Context of all requests to AWS: environment, shared config files, HTTP sender and clock. */
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
	int64_t skew;            /* seconds that the servers' clock is ahead of now() */
	const char *region;      /* as configured; NULL: determine it */
	const atomic_bool *stop; /* once true, long operations end soon; NULL: never */
	bool refuses_programs; /* the settings belong to another process: credential_process is not run */

	/* Filled on demand by aws.c, and the region by region.c. */
	bool files_read;
	struct buf config, credentials;
	char *found_region;
	bool refused_program; /* a program was refused */
	bool imds_timed_out;  /* IMDS took the last request, but did not answer it in time */
	uint32_t warned[8];   /* hashes of logged warnings */
	size_t warned_count;
};

/* Initialize the members above the last group; zero the rest. aws_free() frees that group. */
void aws_free(struct aws *aws);

/* The time of this machine's clock, in seconds since 1970. */
int64_t aws_clock(void);

/* Open AWS's HTTP sender unless it has one, with the configured certificate authorities. Returns 0
 * or -errno. */
int aws_open_http(struct aws *aws);

/* Read the shared files again on the next access, because their keys may have been rotated. */
void aws_forget_files(struct aws *aws);

/* Seconds since 1970, by the servers' clock. */
int64_t aws_now(const struct aws *aws);

/* Log a warning like log_warn(), but each text once until aws_reset_warnings(): failed requests
 * are retried often. Logs nothing after *stop is true, because the stop causes the failure. */
void aws_warn(struct aws *aws, const char *format, ...) __attribute__((format(printf, 2, 3)));
void aws_reset_warnings(struct aws *aws);

/* The profile in use: AWS_PROFILE, AWS_DEFAULT_PROFILE or "default". */
const char *aws_profile(const struct aws *aws);

/* KEY of PROFILE in the credentials file, else in the config file; malloc'd, or NULL. */
char *aws_profile_get(struct aws *aws, const char *profile, const char *key);

/* The environment variable NAME, else KEY of the profile; malloc'd, or NULL. */
char *aws_setting(struct aws *aws, const char *name, const char *key);

/* True if that setting equals VALUE, ignoring case. */
bool aws_setting_is(struct aws *aws, const char *name, const char *key, const char *value);

/* The configured endpoint of SERVICE ("s3", "sts"): AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the
 * profile's services section or its endpoint_url. malloc'd, or NULL. */
char *aws_endpoint(struct aws *aws, const char *service);

/* The configured file of certificate authorities: AWS_CA_BUNDLE, the profile's ca_bundle or
 * SSL_CERT_FILE. malloc'd, or NULL. */
char *aws_ca_file(struct aws *aws);

#endif
