/* A row of the option table, and the parsing of its values. */
#ifndef CORE_OPTIONS_OPTION_VALUE_H
#define CORE_OPTIONS_OPTION_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTION_PREFIX "ASPROF_AGENT_"

/* Sizes of the text of option_expects() and of a line of option_complain(). */
#define OPTION_EXPECTS_MAX 128
#define OPTION_PROBLEM_MAX 512

enum option_type {
	OPTION_SWITCH,   /* bool: on, off */
	OPTION_WORD,     /* an enum in the order of .words */
	OPTION_DURATION, /* uint64_t, nanoseconds: 10ms */
	OPTION_SIZE,     /* uint64_t, bytes: 512k */
	OPTION_SHARE,    /* uint64_t, thousandths: 10% */
	OPTION_TEXT,     /* const char * */
};

struct option {
	const char *name; /* without the prefix */

	uint64_t min, max; /* range of a number; `off` is outside of it */
	uint64_t off;      /* value of `off` */
	uint64_t on;       /* value of `on`; 0: `on` is not accepted */

	const char *const *words; /* accepted words, for WORD and TEXT */
	bool (*check)(
		const char
			*value); /* TEXT: additional check; control characters are always refused */
	const char *expects;     /* TEXT with check: the accepted values, for messages */
	const char *none;        /* TEXT: the word for NULL */

	const char *fallback; /* the default as text; "": unset */
	const char *help;     /* one sentence */

	enum option_type type;
	uint16_t offset;  /* offset in struct config; the type is given above */
	bool zero : 1;    /* 0 is accepted and means `off` */
	bool secret : 1;  /* the value is not displayed */
	bool unbuilt : 1; /* this version ignores it */
};

union option_value {
	bool on;
	unsigned int word;
	uint64_t number;
	const char *text; /* the parsed string, or NULL for .none */
};

/* Parse VALUE for OPTION. Returns 0 or -EINVAL; option_expects() describes the accepted values. */
int option_parse(const struct option *option, const char *value, union option_value *out);

/* Write the accepted values of OPTION to TEXT: "a duration such as 10ms (100us to 1h), or off". */
void option_expects(const struct option *option, char *text, size_t size);

/* Write one line to PROBLEM, of OPTION_PROBLEM_MAX bytes. It names OPTION, the rejected VALUE (sanitized) and the
 * accepted values. Returns -EINVAL. */
int option_complain(const struct option *option, const char *value, char *problem);

/* Checks of TEXT options. */
bool check_library(const char *value);     /* a soname or an absolute path */
bool check_object_name(const char *value); /* no path segment . or .. */
bool check_tags(const char *value);        /* key=value,key=value */
bool check_headers(const char *value);     /* key=value,key=value; keys are header names */
bool check_log_file(const char *value);    /* a path that does not name stdout */
bool check_no_space(const char *value);    /* one word */
bool check_url(const char *value);         /* http://… or https://… */
bool check_metadata(const char *value);    /* auto, none, file:PATH */
bool check_listen(const char *value);      /* auto, unix:/PATH or ADDRESS:PORT */

/* True when LISTEN, which check_listen() accepted, is reachable only from this machine. */
bool listen_is_local(const char *listen);

#endif
