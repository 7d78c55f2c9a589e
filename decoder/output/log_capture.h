/* What the code that the command shares with the agent says in its log. */
#ifndef DECODER_OUTPUT_LOG_CAPTURE_H
#define DECODER_OUTPUT_LOG_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

/* Have warnings and errors that are logged from now on kept, rather than written to stderr. */
void log_capture_start(void);

/* The next line of them, without the log's prefix; false when there is none. Any thread. */
bool log_capture_next_line(char *line, size_t size);

#endif
