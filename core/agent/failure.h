/* Error message of the last failed operation. The caller that knows the consequence logs both in one line. Agent
 * thread only. */
#ifndef CORE_AGENT_FAILURE_H
#define CORE_AGENT_FAILURE_H

/* Store the message, truncated to 511 bytes. Returns ERR, for use in a return statement. */
int failed(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Return the last message; valid until the next failed(). */
const char *failure(void);

#endif
