/* The stack that a thread has for signals. */
#ifndef PRELOAD_INTERPOSE_ALTSTACK_H
#define PRELOAD_INTERPOSE_ALTSTACK_H

/* The calling thread ends: give back what it was given. */
void altstack_end(void);

#endif
