/* Copy of the program's initial environment, for the image and async-profiler. The program may change its
 * environment at any time, and getenv(3) in another thread would then read freed memory. */
#ifndef CORE_START_ENVIRONMENT_H
#define CORE_START_ENVIRONMENT_H

/* Copy ENVIRONMENT. In the constructor, once. The copy is never freed. Returns 0 or -ENOMEM. */
int start_environment_capture(char *const *environment);

/* Return the copy: entries, each with its NUL, and an empty entry at the end. */
const char *start_environment(void);

/* getenv(3) in the copy. Any thread. */
char *start_environment_get(const char *name);

#endif
