/* The environment as the image and async-profiler see it: as the program began with it. The program may change
 * its own at any moment, and getenv(3) in another thread then reads what is not there any more. */
#ifndef CORE_START_ENVIRONMENT_H
#define CORE_START_ENVIRONMENT_H

/* Copy ENVIRONMENT, for ever. Once, in the constructor. Returns 0 or -ENOMEM. */
int start_environment_capture(char *const *environment);

/* The copy: entries, each with its NUL, and an empty one. */
const char *start_environment(void);

/* getenv(3), of the copy. Any thread. */
char *start_environment_get(const char *name);

#endif
