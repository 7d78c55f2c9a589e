/* Why what was tried last has failed, in words. Whoever knows what follows from it says both in one
 * line of the log. The agent thread's alone. */
#ifndef CORE_AGENT_FAILURE_H
#define CORE_AGENT_FAILURE_H

/* Note the words; a text longer than 511 bytes is cut. Returns ERR, so that it can end a function. */
int failed(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What was noted last; valid until the next. */
const char *failure(void);

#endif
