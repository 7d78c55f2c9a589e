/* Output on a terminal: colours, and a pager for long output. Nothing here has an effect if standard output is not a
 * terminal, or if TERM is unset or "dumb". One thread. */
#ifndef DECODER_OUTPUT_TERMINAL_H
#define DECODER_OUTPUT_TERMINAL_H

enum style {
	STYLE_NONE, /* ends the others */
	STYLE_HEADING,
	STYLE_OWN, /* the program's own code */
	STYLE_STOP,
	STYLE_NOTE,
	STYLES,
};

/* The escape sequence of STYLE; "" without a terminal, or if NO_COLOR is set. */
const char *terminal_style(enum style style);

/* Start PAGER (less), and send it standard output, and standard error if that is a terminal too. Call it before the
 * first output. An empty PAGER, "cat", or one that cannot be started: no pager. */
void terminal_start_pager(void);

/* Close the output and wait until the user has left the pager. Nothing can be printed afterwards. */
void terminal_end_pager(void);

#endif
