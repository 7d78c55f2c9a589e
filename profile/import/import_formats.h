/* The formats that can be imported. Each `matches` looks at the start of the data only, or is
 * linear; each `read` returns 0, or -EBADMSG with INPUT's problem set; errors of memory and files
 * stay in the writer. */
#ifndef PROFILE_IMPORT_IMPORT_FORMATS_H
#define PROFILE_IMPORT_IMPORT_FORMATS_H

#include "profile/import/import_text.h"

bool import_collapsed_matches(const uint8_t *data, size_t length);
int import_collapsed_read(struct import_input *input, struct import_writer *w);

bool import_perf_matches(const uint8_t *data, size_t length);
int import_perf_read(struct import_input *input, struct import_writer *w);

bool import_html_matches(const uint8_t *data, size_t length);
int import_html_read(struct import_input *input, struct import_writer *w);

bool import_pprof_matches(const uint8_t *data, size_t length);
int import_pprof_read(struct import_input *input, struct import_writer *w);

#endif
