/* Environment of programs that this process starts. */
#ifndef PRELOAD_CHILD_ENVIRONMENT_H
#define PRELOAD_CHILD_ENVIRONMENT_H

/* Remove this library from LD_PRELOAD in ENTRIES, an environment, and the variable if its value is then empty.
 * Allocates nothing. */
void child_environment_remove_library(char **entries);

#endif
