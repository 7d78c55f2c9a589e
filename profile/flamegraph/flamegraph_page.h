/* The page of the flame graph, decoder/output/flamegraph.html, as it is in the program. */
#ifndef DECODER_OUTPUT_FLAMEGRAPH_PAGE_H
#define DECODER_OUTPUT_FLAMEGRAPH_PAGE_H

/* NUL-terminated. The data goes where FLAMEGRAPH_DATA stands. */
extern const char flamegraph_page[];
#define FLAMEGRAPH_DATA "@DATA@"

#endif
