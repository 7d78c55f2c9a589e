/* Seccomp, where a thread that calls what it may not is killed, and the process with it. */
#ifndef PRELOAD_INTERPOSE_SANDBOX_H
#define PRELOAD_INTERPOSE_SANDBOX_H

/* The program is about to enter a sandbox, or to find out whether it can. */
void sandbox_ahead(void);

#endif
