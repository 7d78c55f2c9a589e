/* The page of the flame graph, profile/flamegraph/flamegraph.html, as it is in the program. */
#ifndef PROFILE_FLAMEGRAPH_FLAMEGRAPH_PAGE_H
#define PROFILE_FLAMEGRAPH_FLAMEGRAPH_PAGE_H

/* NUL-terminated. The data goes where FLAMEGRAPH_DATA stands. */
extern const char flamegraph_page[];
#define FLAMEGRAPH_DATA "@DATA@"

#endif
