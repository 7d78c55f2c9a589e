/* The flame graph page, profile/flamegraph/flamegraph.html, embedded in the program. */
#ifndef PROFILE_FLAMEGRAPH_FLAMEGRAPH_PAGE_H
#define PROFILE_FLAMEGRAPH_FLAMEGRAPH_PAGE_H

/* NUL-terminated. The writer replaces FLAMEGRAPH_DATA by the data. */
extern const char flamegraph_page[];
#define FLAMEGRAPH_DATA "@DATA@"

#endif
