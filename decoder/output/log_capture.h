/* Capture of log lines that shared agent code writes, for the command's own messages. */
#ifndef DECODER_OUTPUT_LOG_CAPTURE_H
#define DECODER_OUTPUT_LOG_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>

/* Capture warnings and errors that are logged from now on; they are not printed to stderr.
 * Without memory they go to stderr as before. */
void log_capture_start(void);

/* Copy the next captured line to LINE, without the log's prefix. Returns false if there is none.
 * Thread-safe. */
bool log_capture_next_line(char *line, size_t size);

#endif
