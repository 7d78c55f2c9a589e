/* Frame of a self-contained HTML page: head, shared styles and scripts, and data for the scripts.
 *
 * A page is: page_write_start(), a body, elements with data, page_write_scripts(), page_write_end().
 * Its Content-Security-Policy allows no network, and no HTML from strings. Names are data: they are
 * written by page_json_string() or page_data.h only. The caller checks FILE for write errors. */
#ifndef PROFILE_PAGE_PAGE_H
#define PROFILE_PAGE_PAGE_H

#include <stdio.h>

/* Embedded files of profile/page, NUL-terminated. */
extern const char page_style[];         /* page.css: colours of both themes, controls, tooltip */
extern const char page_script[];        /* page.js: numbers, themes, URL fragment, unpack() */
extern const char page_stacks_script[]; /* stacks.js: decoder of page_stacks.h, trees, search */
extern const char page_states_script[]; /* states.js: states of threads, from labels */
extern const char page_graph_script[];  /* graph.js: flame graph on a canvas, table of functions */
extern const char page_header[];        /* header.html: title, search, switches */
extern const char page_graph[];         /* graph.html: canvas, table, status line, legend */

/* Embed the file PATH as the NUL-terminated string NAME. Makefile: list PATH as its prerequisite. */
#define PAGE_EMBED(name, path)                                      \
	__asm__(".pushsection .rodata." #name ", \"a\"\n"           \
		".globl " #name "\n.hidden " #name "\n" #name ":\n" \
		".incbin \"" path "\"\n.byte 0\n.popsection\n")

/* Write everything up to <body>. STYLE follows the shared styles; NULL: none. */
void page_write_start(FILE *file, const char *title, const char *style);

/* Write one script element with the shared scripts, then SCRIPTS, a list that ends with NULL. */
void page_write_scripts(FILE *file, const char *const *scripts);
void page_write_end(FILE *file);

/* Write the start and the end of an element with JSON: `data(ID)` in page.js parses it. */
void page_json_start(FILE *file, const char *id);
void page_json_end(FILE *file);

/* Write STRING as JSON with '<' escaped: "</" and "<!--" have a meaning inside a script element. */
void page_json_string(FILE *file, const char *string);

#endif
