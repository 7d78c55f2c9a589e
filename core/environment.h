/* Environment of the process at its start, before the program runs. Later the program may change its own environment at
 * any time and from any thread. */
#ifndef CORE_ENVIRONMENT_H
#define CORE_ENVIRONMENT_H

struct environment {
	char *const
		*entries; /* "NAME=value", NULL-terminated, which outlive this struct; NULL: none */
};

/* ENTRIES, which live as long as the process, are its environment at the start. In the image, once. */
void environment_set_at_start(char *const *entries);

/* Return the environment at the start; in a program without the image, its environ. */
char *const *environment_at_start(void);

/* Return the value of NAME; NULL when it is missing or empty. The cloud SDKs treat both alike. */
const char *environment_get(const struct environment *environment, const char *name);

/* Return a copy of ENTRIES (NULL: none) without the preload and the agent's settings, for a program that is not to be
 * profiled; NULL without memory. The strings are those of ENTRIES; release the copy with free(). */
char **environment_without_agent(char *const *entries);

#endif
