/* Poisson sampling of amounts, such as bytes or nanoseconds: the distance between samples is exponentially
 * distributed. So every unit has the same probability, and no pattern of the program can bias the samples.
 * Async-signal-safe. */
#ifndef ENGINE_SAMPLE_POISSON_H
#define ENGINE_SAMPLE_POISSON_H

#include <stdint.h>

/* Returns the distance to the next sample, INTERVAL on average, from a RANDOM number of 64 bits. */
uint64_t poisson_distance(uint64_t random, uint64_t interval);

/* Probability that an amount of INTERVALS (at least 0) is sampled: 1 - exp(-INTERVALS). A sampled amount stands for itself,
 * divided by this. */
double poisson_probability(double intervals);

#endif
