/* Becoming another program, by the C library or by syscall(2). */
#ifndef PRELOAD_INTERPOSE_EXEC_H
#define PRELOAD_INTERPOSE_EXEC_H

#include <stdbool.h>

/* Before it: the end of this program is told. True when this process had an agent, and not only the one that it was
 * forked from. */
bool exec_begin(void);

/* The program lives on, and so does its profile if it was TOLD. errno is preserved. */
void exec_failed(bool told);

#endif
