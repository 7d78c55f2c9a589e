/* What an error is in words: strerror(3) for lines of the log, which asks neither the locale nor the
 * allocator of the program. */
#ifndef CORE_ERROR_TEXT_H
#define CORE_ERROR_TEXT_H

/* ERR, an errno, as the C library has it in English; it is there for good. Async-signal-safe. */
const char *error_text(int err);

#endif
