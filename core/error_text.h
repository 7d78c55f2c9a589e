/* Error messages for the log: strerror(3) without the program's locale and allocator. */
#ifndef CORE_ERROR_TEXT_H
#define CORE_ERROR_TEXT_H

/* Return the C library's English message for ERR, an errno. The string is never freed. Async-signal-safe. */
const char *error_text(int err);

#endif
