/* What programs that this one starts find in their environment. */
#ifndef PRELOAD_CHILD_ENVIRONMENT_H
#define PRELOAD_CHILD_ENVIRONMENT_H

/* Take this library, and no other, out of LD_PRELOAD in the environment that ENTRIES are (as environ), and
 * the variable where nothing is left. Allocates nothing. */
void child_environment_remove_library(char **entries);

#endif
