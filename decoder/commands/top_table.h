/* Table of functions with a column per profile, or per part of one. top prints it. */
#ifndef DECODER_COMMANDS_TOP_TABLE_H
#define DECODER_COMMANDS_TOP_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "decoder/commands/args.h"
#include "decoder/output/terminal.h"
#include "profile/aggregate/functions.h"
#include "profile/aggregate/profile.h"
#include "profile/basics/confidence.h"
#include "profile/basics/intern.h"

/* Settings of the output. */
struct top_output {
	const struct args *args;
	enum metric metric;
	bool by_total;
	const char *unit;
	const struct losses *losses, *base_losses;
	unsigned width; /* of the terminal; 0: unknown */
};

struct top_column {
	const char *name;
	const struct profile *profile;
	struct functions functions;
};

struct top_row {
	uint32_t key; /* of the function */
	double order; /* sort key, largest first */
};

/* Set OUTPUT, COLUMNS (malloc'd) and their number; top_table_fill() does the rest. */
struct top_table {
	const struct top_output *output;
	struct top_column *columns;
	uint32_t column_count;
	struct intern keys;   /* of functions: name, NUL, module */
	struct top_row *rows; /* sorted */
	double *self, *total; /* by key and column */
};

/* Fill the rows with the columns' functions, and sort them by ORDER. Returns 0 or -ENOMEM. */
int top_table_fill(struct top_table *t, double (*order)(const struct top_table *t, uint32_t key));

/* Free everything in the table, also when it was not filled. */
void top_table_free(struct top_table *t);

/* Number of rows to print. */
uint32_t top_table_rows(const struct top_table *t);

/* Share of the function KEY in COLUMN, in percent. */
double top_table_self_share(const struct top_table *t, uint32_t key, uint32_t column);
double top_table_total_share(const struct top_table *t, uint32_t key, uint32_t column);

/* The 95% interval of PERCENT in COLUMN, and the number of decimals that it justifies. */
struct interval top_table_interval(const struct top_table *t, double percent, uint32_t column);
int top_table_percent_digits(const struct top_table *t, double percent, uint32_t column);

/* Print PERCENT of COLUMN with these decimals, WIDTH characters and a percent sign. */
void top_table_print_percent(const struct top_table *t, int width, double percent, uint32_t column);

/* Print the number of samples of COLUMN, and their sum if it counts. */
void top_table_print_amounts(const struct top_table *t, uint32_t column);

/* Print the name and module of a row, as the end of its line. USED: width of the columns before. */
void top_table_print_name(const struct top_table *t, uint32_t row, unsigned used);

/* Print how many rows are not printed, if any. */
void top_table_print_omitted(const struct top_table *t);

/* Parts of the table as JSON: its beginning, the beginning of a row, and the interval of PART. */
void top_table_json_head(const struct top_table *t);
void top_table_json_name(const struct top_table *t, uint32_t row);
void top_table_json_interval(const struct top_table *t, double part, uint32_t column);

/* ---- Also for other output ---- */

/* PART of WHOLE, in percent; 0 if WHOLE is 0. */
double top_percent_of(double part, double whole);

/* Print the further member NAME of a JSON object. */
void top_table_json_number(const char *name, double number);

/* Returns the name of FUNCTION, "[no stack]" if it has none. */
const char *top_function_name(const struct profile *profile, const struct function *function);

/* Print NAME and its MODULE in STYLE as the last columns of a line of WIDTH, after USED columns. */
void top_print_function(const char *name, const char *module, unsigned width, unsigned used,
			bool full_names, enum style style);

/* Print the names of STACK's frames, in one line of WIDTH each, and how many are beyond the depth in ARGS.
 * WITH_MODULES: also the modules of native frames, and a note if there is no frame. */
void top_print_stack(const struct profile *profile, uint32_t stack, const struct args *args,
		     unsigned width, bool with_modules);

#endif
