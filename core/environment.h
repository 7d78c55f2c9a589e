/* A copy of the process's environment. The program may change its own at any time, from any
 * thread; so it is copied once, while the program is not yet running, and read here. */
#ifndef CORE_ENVIRONMENT_H
#define CORE_ENVIRONMENT_H

struct environment {
	char **entries; /* "NAME=value", NULL-terminated; malloc'd */
};

/* Copy ENTRIES (as environ). Returns 0 (release with environment_free) or -ENOMEM. */
int environment_copy(struct environment *out, char *const *entries);
void environment_free(struct environment *environment);

/* The value of NAME; NULL when it is missing or empty: the SDKs take the two for the same. */
const char *environment_get(const struct environment *environment, const char *name);

#endif
