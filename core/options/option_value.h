/* One row of the options' table, and how a value in it is read. */
#ifndef CORE_OPTIONS_OPTION_VALUE_H
#define CORE_OPTIONS_OPTION_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTION_PREFIX "ASPROF_AGENT_"

/* Room for what option_expects writes, and for any line of option_complain. */
#define OPTION_EXPECTS_MAX 128
#define OPTION_PROBLEM_MAX 512

enum option_type {
	OPTION_SWITCH,   /* bool: on, off */
	OPTION_WORD,     /* an enum whose values stand in the order of .words */
	OPTION_DURATION, /* uint64_t, nanoseconds: 10ms */
	OPTION_SIZE,     /* uint64_t, bytes: 512k */
	OPTION_SHARE,    /* uint64_t, thousandths: 10% */
	OPTION_TEXT,     /* const char * */
};

struct option {
	const char *name; /* without the prefix */

	uint64_t min, max; /* of a number; `off`, and what follows, aside */
	uint64_t off;      /* what `off` stands for */
	uint64_t on;       /* what `on` stands for; 0: `on` is not a value */

	const char *const *words;         /* WORD, and TEXT that is one of them */
	bool (*check)(const char *value); /* TEXT: more than "no control characters" */
	const char *expects;              /* TEXT with check: what is accepted, in words */
	const char *none;                 /* TEXT: the word that stands for NULL */

	const char *fallback; /* the default as written; "": unset */
	const char *help;     /* one sentence */

	enum option_type type;
	uint16_t offset;  /* in struct config, of what the type's comment says */
	bool zero : 1;    /* 0 is accepted, and means what `off` does */
	bool secret : 1;  /* the value is not to be shown */
	bool unbuilt : 1; /* this version does nothing with it */
};

union option_value {
	bool on;
	unsigned int word;
	uint64_t number;
	const char *text; /* the string that was parsed, or NULL for .none */
};

/* Read VALUE as OPTION wants it. Returns 0 or -EINVAL; no word of why, since
 * option_expects tells what would have been right. */
int option_parse(const struct option *option, const char *value, union option_value *out);

/* Write what OPTION accepts into TEXT: "a duration such as 10ms (100us to 1h), or off". */
void option_expects(const struct option *option, char *text, size_t size);

/* Write into PROBLEM, of OPTION_PROBLEM_MAX bytes, one line that names OPTION, the VALUE that it does
 * not accept (whatever that holds), and what it would. Returns -EINVAL. */
int option_complain(const struct option *option, const char *value, char *problem);

/* The checks of the texts that have a form. */
bool check_library(const char *value);  /* a soname or an absolute path */
bool check_tags(const char *value);     /* key=value,key=value */
bool check_headers(const char *value);  /* likewise, keys being names of headers */
bool check_log_file(const char *value); /* a path that is not stdout by name */
bool check_no_space(const char *value); /* one word */
bool check_url(const char *value);      /* http://… or https://… */
bool check_metadata(const char *value); /* auto, none, file:PATH */
bool check_listen(const char *value);   /* auto, unix:/PATH or ADDRESS:PORT */

/* True when LISTEN, which check_listen accepted, can be reached from this machine only. */
bool listen_is_local(const char *listen);

#endif
