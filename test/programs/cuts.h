/* The function of the preload cuts.so. */
#ifndef TEST_PROGRAMS_CUTS_H
#define TEST_PROGRAMS_CUTS_H

#include <stddef.h>

/* The next TRIES calls that transfer something, or further tries of them, transfer at most MOST bytes or messages. After
 * each one THEN is called, if it is not NULL, and a sample is taken. */
__attribute__((weak)) void cut_tries(int tries, size_t most, void (*then)(void));

#endif
