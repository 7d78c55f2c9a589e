/* Comparison of functions, in columns. */
#include "decoder/commands/top_compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "decoder/output/message.h"
#include "profile/aggregate/functions.h"
#include "profile/basics/confidence.h"
#include "profile/basics/intern.h"
#include "profile/basics/names.h"
#include "profile/basics/text.h"

/* Number of columns if the terminal's width is unknown. */
#define COLUMNS_SHOWN 8
#define COLUMN_WIDTH  11 /* the least */

/* Characters of a terminal's line that columns leave for the function's name. */
#define NAME_ROOM 40

struct column {
	const char *name;
	const struct profile *profile;
	struct functions functions;
	double max_error; /* see column_max_error() */
};

/* One function. */
struct row {
	uint32_t key;
	double order; /* sort key, largest first */
};

struct table {
	const struct top_compare *compare;
	struct column *columns;
	uint32_t column_count;
	uint32_t value_count; /* number of the label's values; some may have no column */
	struct intern keys;   /* of functions: name, NUL, module */
	struct row *rows;     /* sorted */
	double *self, *total;
};

static double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* --- the table -------------------------------------------------------------------------------- */

const char *top_function_name(const struct profile *p, const struct function *function)
{
	return function->name ? intern_text(&p->names, function->name) : "[no stack]";
}

static uint32_t table_intern_function(struct table *t, const struct profile *p,
				      const struct function *function, struct buf *scratch)
{
	buf_reset(scratch);
	if (buf_append_string(scratch, top_function_name(p, function)) ||
	    buf_append(scratch, "", 1) ||
	    buf_append_string(scratch, intern_text(&p->names, function->module)))
		return 0;
	return intern(&t->keys, scratch->data, scratch->length);
}

static const char *row_name(const struct table *t, uint32_t row)
{
	return intern_text(&t->keys, t->rows[row].key);
}

static const char *row_module(const struct table *t, uint32_t row)
{
	const char *name = row_name(t, row);

	return name + strlen(name) + 1;
}

static double self_share(const struct table *t, uint32_t key, uint32_t column)
{
	return percent_of(t->self[(size_t)(key - 1) * t->column_count + column],
			  t->columns[column].functions.weight);
}

static double total_share(const struct table *t, uint32_t key, uint32_t column)
{
	return percent_of(t->total[(size_t)(key - 1) * t->column_count + column],
			  t->columns[column].functions.weight);
}

static int compare_row(const void *a, const void *b, void *arg)
{
	const struct row *x = a, *y = b;
	const struct table *t = arg;

	if (x->order != y->order)
		return x->order < y->order ? 1 : -1;
	return strcmp(intern_text(&t->keys, x->key), intern_text(&t->keys, y->key));
}

/* Fill the rows with the columns' functions, and sort them by ORDER. */
static int table_fill(struct table *t, double (*order)(const struct table *t, uint32_t key))
{
	struct buf scratch = BUF_INIT(16u << 20);
	uint32_t key;
	int err = 0;

	/* First intern all keys, to know their number. */
	for (uint32_t c = 0; c < t->column_count; c++)
		for (uint32_t i = 0; i < t->columns[c].functions.count && !err; i++)
			err = table_intern_function(t, t->columns[c].profile,
						    &t->columns[c].functions.list[i], &scratch)
				      ? 0
				      : -ENOMEM;
	t->rows = calloc((size_t)t->keys.count + 1, sizeof(*t->rows));
	t->self = calloc((size_t)(t->keys.count + 1) * t->column_count, sizeof(*t->self));
	t->total = calloc((size_t)(t->keys.count + 1) * t->column_count, sizeof(*t->total));
	if (err || !t->rows || !t->self || !t->total) {
		buf_free(&scratch);
		return -ENOMEM;
	}
	for (uint32_t c = 0; c < t->column_count; c++)
		for (uint32_t i = 0; i < t->columns[c].functions.count; i++) {
			const struct function *function = &t->columns[c].functions.list[i];

			key = table_intern_function(t, t->columns[c].profile, function, &scratch);
			t->self[(size_t)(key - 1) * t->column_count + c] += function->self;
			t->total[(size_t)(key - 1) * t->column_count + c] += function->total;
		}
	for (key = 1; key <= t->keys.count; key++)
		t->rows[key - 1] = (struct row){ key, order(t, key) };
	qsort_r(t->rows, t->keys.count, sizeof(*t->rows), compare_row, t);
	buf_free(&scratch);
	return 0;
}

static void table_free(struct table *t)
{
	for (uint32_t c = 0; t->columns && c < t->column_count; c++)
		functions_free(&t->columns[c].functions);
	free(t->columns);
	free(t->rows);
	free(t->self);
	free(t->total);
	intern_free(&t->keys);
}

static uint32_t rows_shown(const struct table *t)
{
	return args_limit(t->compare->args, t->keys.count);
}

void top_print_function(const char *name, const char *module, unsigned width, unsigned used,
			bool full_names, enum style style)
{
	unsigned left = width > used + 6 ? width - used : 0, taken;
	size_t length = strlen(module);

	/* The name of a Java method already contains its class. */
	if (!strncmp(name, module, length) && (name[length] == '.' || !name[length]))
		module = "";
	taken = (unsigned)strlen(module) + 3;
	if (left && taken < left / 2)
		left -= taken;
	if (style != STYLE_NONE)
		fputs(terminal_style(style), stdout);
	names_print(name, left, full_names);
	if (*module)
		printf(" [%s]", module);
	puts(style != STYLE_NONE ? terminal_style(STYLE_NONE) : "");
}

/* Print the name and module of a row. USED: width of the columns before. */
static void print_row_name(const struct table *t, uint32_t row, unsigned used)
{
	top_print_function(row_name(t, row), row_module(t, row), t->compare->width, used,
			   t->compare->args->full_names, STYLE_NONE);
}

static void print_omitted_rows(const struct table *t)
{
	if (rows_shown(t) < t->keys.count)
		printf("... and %u more (-n 0 shows all)\n", t->keys.count - rows_shown(t));
}

static void print_amounts(const struct table *t, uint32_t column)
{
	const struct functions *f = &t->columns[column].functions;
	char number[TEXT_NUMBER];

	printf("%.0f %s", f->samples, metric_texts[t->compare->metric].count_unit);
	if (t->compare->by_total)
		printf(", %s", text_amount(number, f->weight, t->compare->unit));
}

static void print_json_names(const struct table *t, uint32_t row)
{
	printf("{\"name\":");
	json_string(stdout, row_name(t, row));
	printf(",\"module\":");
	json_string(stdout, row_module(t, row));
}

static void print_json_head(const struct table *t)
{
	printf("{\"metric\":\"%s\",\"unit\":\"%s\",", metric_texts[t->compare->metric].name,
	       t->compare->unit);
}

static void print_json_number(const char *name, double number)
{
	printf(",\"%s\":", name);
	json_number(stdout, number);
}

static struct interval interval_in(const struct table *t, double percent, uint32_t column)
{
	return interval_of(percent, 100, t->columns[column].functions.effective);
}

/* Returns the number of decimals that PERCENT of COLUMN justifies. */
static int percent_digits(const struct table *t, double percent, uint32_t column)
{
	struct interval interval = interval_in(t, percent, column);

	return interval_digits(&interval);
}

static void print_json_interval(const struct table *t, double part, uint32_t column)
{
	const struct functions *f = &t->columns[column].functions;
	struct interval interval = interval_of(part, f->weight, f->effective);

	interval_json(stdout, &interval);
}

static void print_percent(const struct table *t, int width, double percent, uint32_t column)
{
	printf("%*.*f%%", width, percent_digits(t, percent, column), percent);
}

/* --- comparison with a base ------------------------------------------------------------------- */

enum { NEW, BASE, SIDES };

static double row_change(const struct table *t, uint32_t key)
{
	double self = fabs(self_share(t, key, NEW) - self_share(t, key, BASE));
	double total = fabs(total_share(t, key, NEW) - total_share(t, key, BASE));

	/* Callers change with their callees, so total only decides between equal ones. */
	return self + total / 1e6;
}

static struct interval interval_of_percents(const struct table *t, double now, double was)
{
	struct interval now_in = interval_in(t, now, NEW), was_in = interval_in(t, was, BASE);

	return interval_of_change(now / 100, &now_in, was / 100, &was_in);
}

/* Print NOW, WAS and the difference, with the decimals of the less exact one, and with its interval. */
static void print_change(const struct table *t, double now, double was, bool with_intervals)
{
	int places = percent_digits(t, now, NEW), base_places = percent_digits(t, was, BASE);
	struct interval change = interval_of_percents(t, now, was);
	char range[TEXT_NUMBER];

	print_percent(t, 6, now, NEW);
	fputs("  ", stdout);
	print_percent(t, 6, was, BASE);
	printf(" %+8.*f  ", places < base_places ? places : base_places, now - was);
	if (with_intervals)
		printf("%9s  ", interval_change_text(range, sizeof(range), &change));
}

/* Whether the interval of any displayed change is wider than one percentage point. */
static bool needs_intervals(const struct table *t)
{
	for (uint32_t i = 0; i < rows_shown(t); i++) {
		uint32_t key = t->rows[i].key;
		struct interval self =
			interval_of_percents(t, self_share(t, key, NEW), self_share(t, key, BASE));
		struct interval total = interval_of_percents(t, total_share(t, key, NEW),
							     total_share(t, key, BASE));

		if (!interval_digits(&self) || !interval_digits(&total))
			return true;
	}
	return false;
}

static void print_base(const struct table *t)
{
	bool with = needs_intervals(t);
	const char *heading = with ? "     95% CI" : "";

	printf("%s: ", metric_texts[t->compare->metric].name);
	print_amounts(t, NEW);
	printf("; base: ");
	print_amounts(t, BASE);
	printf("\n\n   self     base   change%s    total     base   change%s  function\n", heading,
	       heading);
	for (uint32_t i = 0; i < rows_shown(t); i++) {
		uint32_t key = t->rows[i].key;

		print_change(t, self_share(t, key, NEW), self_share(t, key, BASE), with);
		print_change(t, total_share(t, key, NEW), total_share(t, key, BASE), with);
		print_row_name(t, i, with ? 78 : 56);
	}
	print_omitted_rows(t);
}

static void print_base_json(const struct table *t)
{
	static const char *const names[SIDES] = { "", "base_" };

	print_json_head(t);
	printf("\"weight\":");
	json_number(stdout, t->columns[NEW].functions.weight);
	print_json_number("base_weight", t->columns[BASE].functions.weight);
	putchar(',');
	interval_json_effective(stdout, "effective_samples", t->columns[NEW].functions.effective);
	putchar(',');
	interval_json_effective(stdout, "base_effective_samples",
				t->columns[BASE].functions.effective);
	printf(",\"functions\":[");
	for (uint32_t i = 0; i < rows_shown(t); i++) {
		size_t at = (size_t)(t->rows[i].key - 1) * SIDES;

		printf(i ? "," : "");
		print_json_names(t, i);
		for (unsigned side = 0; side < SIDES; side++) {
			const double parts[] = { t->self[at + side], t->total[at + side] };

			for (int k = 0; k < 2; k++) {
				const char *of = k ? "total" : "self";

				printf(",\"%s%s\":", names[side], of);
				json_number(stdout, parts[k]);
				printf(",\"%s%s_interval\":", names[side], of);
				print_json_interval(t, parts[k], side);
			}
		}
		putchar('}');
	}
	printf("],\"losses\":");
	losses_json(stdout, t->compare->losses);
	printf(",\"base_losses\":");
	losses_json(stdout, t->compare->base_losses);
	printf("}\n");
}

int top_compare_base(const struct top_compare *compare, const struct profile *profile,
		     const struct profile *base)
{
	const struct profile *const sides[SIDES] = { profile, base };
	struct table t = { .compare = compare,
			   .columns = calloc(SIDES, sizeof(*t.columns)),
			   .column_count = SIDES };
	int err = t.columns ? 0 : -ENOMEM;

	for (unsigned side = 0; side < SIDES && !err; side++) {
		t.columns[side].profile = sides[side];
		err = functions_of(&t.columns[side].functions, sides[side], compare->metric,
				   compare->by_total, 0);
	}
	if (!err)
		err = table_fill(&t, row_change);
	if (!err && compare->args->json)
		print_base_json(&t);
	else if (!err)
		print_base(&t);
	table_free(&t);
	return err;
}

/* --- comparison by a label -------------------------------------------------------------------- */

/* Stands for samples without the label. */
#define NO_VALUE "(unknown)"

/* Numbers of the label's values. A sample has the value of its context, else that of its recording. */
struct value_numbers {
	uint32_t *threads;  /* by thread: the recording's value */
	uint32_t *contexts; /* by name of the context; 0: the context has no value */
};

/* Filter of samples by the label's value. */
struct label_value {
	const struct value_numbers *numbers;
	uint32_t value; /* 0: any */
};

static uint32_t sample_value_number(const struct value_numbers *numbers, const struct sample *s)
{
	uint32_t own = s->context ? numbers->contexts[s->context] : 0;

	return own ? own : numbers->threads[s->thread];
}

/* A value of the label, and its weight. */
struct weighted_value {
	const char *name;
	uint32_t number;
	double weight;
};

static bool sample_has_value(const void *arg, const struct sample *sample)
{
	const struct label_value *part = arg;

	return !part->value || sample_value_number(part->numbers, sample) == part->value;
}

static double row_weight(const struct table *t, uint32_t key)
{
	return self_share(t, key, 0) + total_share(t, key, 0) / 1000;
}

static int compare_value_weight(const void *a, const void *b)
{
	const struct weighted_value *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Returns how many columns fit the terminal, with space for the names. */
static uint32_t columns_shown(const struct top_compare *compare)
{
	if (compare->args->json)
		return UINT32_MAX;
	return compare->width > 5 * COLUMN_WIDTH
		       ? (compare->width - 2 * COLUMN_WIDTH) / COLUMN_WIDTH
		       : COLUMNS_SHOWN + 1;
}

/* Returns the width of a column: that of the longest name if the terminal has room for it. */
static unsigned column_width(const struct table *t)
{
	unsigned longest = COLUMN_WIDTH, room = t->compare->width, width;

	for (uint32_t c = 0; c < t->column_count; c++) {
		width = (unsigned)text_width(t->columns[c].name) + 1;
		longest = width > longest ? width : longest;
	}
	if (!room)
		return longest;
	room = room > NAME_ROOM ? (room - NAME_ROOM) / t->column_count : 0;
	room = room > COLUMN_WIDTH ? room : COLUMN_WIDTH;
	return longest < room ? longest : room;
}

/* Returns the length of the common prefix of all columns but the first, which WIDTH has no room for. Returns 0 if all
 * names fit, or if the prefix is short. */
static size_t common_prefix_length(const struct table *t, unsigned width)
{
	const char *first = t->column_count > 1 ? t->columns[1].name : "";
	size_t common = t->column_count > 2 ? strlen(first) : 0, longest = 0;

	for (uint32_t c = 1; c < t->column_count; c++) {
		const char *name = t->columns[c].name;
		size_t same = 0;

		while (same < common && name[same] == first[same])
			same++;
		common = same;
		longest = text_width(name) > longest ? text_width(name) : longest;
	}
	while (common && (first[common] & 0xc0) == 0x80) /* do not split a UTF-8 character */
		common--;
	return longest < width || common < width / 2 ? 0 : common;
}

static void print_heading(const char *name, unsigned width)
{
	size_t length = text_width(name);

	printf("%*s", length < width ? (int)(width - length) : 1, "");
	text_print_name(stdout, name, width - 1);
}

/* Returns whether a name, without its first COMMON bytes, is wider than its column. */
static bool name_is_cut(const struct table *t, size_t common, unsigned width)
{
	for (uint32_t c = 1; c < t->column_count; c++)
		if (text_width(t->columns[c].name + common) >= width)
			return true;
	return false;
}

/* Print full names above the table, with numbers that stand for them in the heading. */
static void print_legend(const struct table *t)
{
	putchar('\n');
	for (uint32_t c = 1; c < t->column_count; c++)
		printf("%4u  %s\n", c, t->columns[c].name);
}

/* Print the names of the columns, or their numbers. */
static void print_headings(const struct table *t, bool numbered, size_t common, unsigned width)
{
	char number[16];

	for (uint32_t c = 0; c < t->column_count; c++) {
		snprintf(number, sizeof(number), "%u", c);
		print_heading(numbered && c ? number : t->columns[c].name + (c ? common : 0),
			      width);
	}
	printf("  self\n");
}

/* Returns the largest error, in percentage points, of a displayed share in COLUMN, with 95% confidence. */
static double column_max_error(const struct table *t, uint32_t column)
{
	double most = 0;

	for (uint32_t i = 0; i < rows_shown(t); i++) {
		double percent = self_share(t, t->rows[i].key, column);
		struct interval interval = interval_in(t, percent, column);

		most = fmax(most,
			    fmax(100 * interval.high - percent, percent - 100 * interval.low));
	}
	return most;
}

/* Print the largest error of each column, as there is no space for an interval of each share. */
static void print_max_errors(const struct table *t, unsigned width)
{
	double most = 0;

	for (uint32_t c = 0; c < t->column_count; c++)
		most = fmax(most, t->columns[c].max_error = column_max_error(t, c));
	if (2 * most <= 1)
		return;
	for (uint32_t c = 0; c < t->column_count; c++)
		printf("%*.0f%%", (int)width - 1, ceil(t->columns[c].max_error));
	printf("  at most plus or minus, with 95%% confidence\n");
}

static void print_by(const struct table *t)
{
	uint32_t shown = t->column_count;
	const char *by = t->compare->args->by;
	unsigned width = column_width(t);
	size_t common = common_prefix_length(t, width);
	bool numbered = name_is_cut(t, common, width);

	if (numbered) {
		common = 0;
		width = COLUMN_WIDTH;
	}
	printf("%s: ", metric_texts[t->compare->metric].name);
	print_amounts(t, 0);
	printf(", by %s: %u", by, t->value_count);
	if (common)
		printf(", without %.*s", (int)common, t->columns[1].name);
	putchar('\n');
	if (numbered)
		print_legend(t);
	putchar('\n');
	print_headings(t, numbered, common, width);
	for (uint32_t c = 0; c < shown; c++)
		print_percent(
			t, (int)width - 1,
			percent_of(t->columns[c].functions.weight, t->columns[0].functions.weight),
			0);
	printf("  of the whole\n");
	print_max_errors(t, width);
	for (uint32_t i = 0; i < rows_shown(t); i++) {
		for (uint32_t c = 0; c < shown; c++)
			print_percent(t, (int)width - 1, self_share(t, t->rows[i].key, c), c);
		printf("  ");
		print_row_name(t, i, shown * width + 2);
	}
	print_omitted_rows(t);
	if (shown <= t->value_count)
		printf("... and %u more of %s (--json has all)\n", t->value_count + 1 - shown, by);
}

/* Print PARTS of all columns, and the intervals of their shares. */
static void print_by_side_json(const struct table *t, const char *name, const double *parts)
{
	printf(",\"%s\":[", name);
	for (uint32_t c = 0; c < t->column_count; c++) {
		printf(c ? "," : "");
		json_number(stdout, parts[c]);
	}
	printf("],\"%s_interval\":[", name);
	for (uint32_t c = 0; c < t->column_count; c++) {
		printf(c ? "," : "");
		print_json_interval(t, parts[c], c);
	}
	putchar(']');
}

static void print_by_json(const struct table *t)
{
	print_json_head(t);
	printf("\"by\":");
	json_string(stdout, t->compare->args->by);
	printf(",\"columns\":[");
	for (uint32_t c = 0; c < t->column_count; c++) {
		printf("%s{\"name\":", c ? "," : "");
		json_string(stdout, t->columns[c].name);
		print_json_number("weight", t->columns[c].functions.weight);
		print_json_number("samples", t->columns[c].functions.samples);
		putchar(',');
		interval_json_effective(stdout, "effective_samples",
					t->columns[c].functions.effective);
		putchar('}');
	}
	printf("],\"functions\":[");
	for (uint32_t i = 0; i < rows_shown(t); i++) {
		size_t at = (size_t)(t->rows[i].key - 1) * t->column_count;

		printf(i ? "," : "");
		print_json_names(t, i);
		print_by_side_json(t, "self", &t->self[at]);
		print_by_side_json(t, "total", &t->total[at]);
		putchar('}');
	}
	printf("],\"losses\":");
	losses_json(stdout, t->compare->losses);
	printf("}\n");
}

static bool is_tag(const char *label)
{
	static const char *const others[] = { "process=", "host=", "executable=", "group=",
					      "machine=" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(label, others[i], strlen(others[i])))
			return false;
	return true;
}

/* Returns the number in VALUES of all tags in LABELS, as "key=value,key=value"; 0 when out of memory. */
static uint32_t intern_tags(struct intern *values, const char *labels)
{
	struct buf tags = BUF_INIT(strlen(labels) + sizeof(NO_VALUE));
	uint32_t number = 0;
	int err = 0;

	for (; *labels && !err; labels += strcspn(labels, "\n"), labels += *labels == '\n') {
		if (!is_tag(labels))
			continue;
		if (tags.length)
			err = buf_append(&tags, ",", 1);
		if (!err)
			err = buf_append(&tags, labels, strcspn(labels, "\n"));
	}
	if (!err && !tags.length)
		err = buf_append_string(&tags, NO_VALUE);
	if (!err)
		number = intern(values, tags.data, tags.length);
	buf_free(&tags);
	return number;
}

/* Returns the number in VALUES of KEY's value in LABELS; 0 when out of memory. */
static uint32_t intern_label(struct intern *values, const char *labels, const char *key)
{
	const char *value = text_find_line(labels, key, true);

	if (!value && !strcmp(key, "tag"))
		return intern_tags(values, labels);
	return value ? intern(values, value, strcspn(value, "\n"))
		     : intern_string(values, NO_VALUE);
}

static bool number_threads(uint32_t *numbers, const struct profile *p, const char *key,
			   struct intern *values)
{
	/* Thread 0 stands for samples without a thread. */
	for (uint32_t thread = 0; thread <= p->threads.count; thread++) {
		const struct thread_key *known = thread ? intern_key(&p->threads, thread) : NULL;

		numbers[thread] = intern_label(
			values, known ? intern_text(&p->names, known->labels) : "", key);
		if (!numbers[thread])
			return false;
	}
	return true;
}

static bool number_contexts(uint32_t *numbers, const struct profile *p, const char *key,
			    struct intern *values)
{
	const char *value;

	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t context = p->samples[i].context;

		if (!context || numbers[context])
			continue;
		value = text_find_line(intern_text(&p->names, context), key, true);
		numbers[context] = value ? intern(values, value, strcspn(value, "\n")) : 0;
		if (value && !numbers[context])
			return false;
	}
	return true;
}

/* Number all values of KEY. Returns 0 or -ENOMEM. Free the arrays in both cases. */
static int number_label_values(struct value_numbers *numbers, const struct profile *p,
			       const char *key, struct intern *values)
{
	numbers->threads = calloc((size_t)p->threads.count + 1, sizeof(*numbers->threads));
	numbers->contexts = calloc((size_t)p->names.count + 1, sizeof(*numbers->contexts));
	return numbers->threads && numbers->contexts &&
			       number_threads(numbers->threads, p, key, values) &&
			       number_contexts(numbers->contexts, p, key, values)
		       ? 0
		       : -ENOMEM;
}

/* Returns the values with any weight, heaviest first; NULL when out of memory. */
static struct weighted_value *weigh_values(const struct top_compare *compare,
					   const struct profile *p, const struct intern *values,
					   const struct value_numbers *numbers, uint32_t *count)
{
	struct weighted_value *list = calloc((size_t)values->count + 1, sizeof(*list));

	*count = 0;
	for (uint32_t number = 1; list && number <= values->count; number++)
		list[number - 1] =
			(struct weighted_value){ intern_text(values, number), number, 0 };
	for (uint32_t i = 0; list && i < p->count; i++) {
		const struct sample *s = &p->samples[i];

		if (s->metric == compare->metric)
			list[sample_value_number(numbers, s) - 1].weight +=
				compare->by_total ? s->total : s->count;
	}
	if (list)
		qsort(list, values->count, sizeof(*list), compare_value_weight);
	while (list && *count < values->count && list[*count].weight > 0)
		++*count;
	return list;
}

static int add_column(struct table *t, const struct profile *profile, const char *name,
		      const struct label_value *part)
{
	struct column *column = &t->columns[t->column_count];
	int err = functions_of_some(&column->functions, profile, t->compare->metric,
				    t->compare->by_total, sample_has_value, part);

	column->name = name;
	column->profile = profile;
	t->column_count += !err;
	return err;
}

int top_compare_by_label(const struct top_compare *compare, const struct profile *profile)
{
	struct intern values = INTERN_INIT;
	struct value_numbers numbers;
	struct label_value part = { .numbers = &numbers };
	struct table t = { .compare = compare };
	struct weighted_value *list = NULL;
	int err = number_label_values(&numbers, profile, compare->args->by, &values);

	if (!err)
		list = weigh_values(compare, profile, &values, &numbers, &t.value_count);
	t.columns = list ? calloc((size_t)t.value_count + 1, sizeof(*t.columns)) : NULL;
	err = t.columns ? add_column(&t, profile, "all", &part) : -ENOMEM;
	for (uint32_t i = 0; i < t.value_count && t.column_count < columns_shown(compare) && !err;
	     i++) {
		part.value = list[i].number;
		err = add_column(&t, profile, list[i].name, &part);
	}
	if (!err)
		err = table_fill(&t, row_weight);
	if (!err && compare->args->json)
		print_by_json(&t);
	else if (!err)
		print_by(&t);
	if (!err && t.value_count == 1 && !strcmp(list[0].name, NO_VALUE))
		message_print("top: no sample has the label '%s'%s", compare->args->by,
			      strcmp(compare->args->by, "thread") ? ""
								  : "; --threads splits by thread");
	table_free(&t);
	free(list);
	free(numbers.threads);
	free(numbers.contexts);
	intern_free(&values);
	return err;
}

/* Processes that are named. */
#define PROCESSES_SHOWN 3

static void print_processes(const struct weighted_value *list, uint32_t count, uint32_t processes)
{
	double whole = 0;

	for (uint32_t i = 0; i < count; i++)
		whole += list[i].weight;
	printf("%u processes:", processes);
	for (uint32_t i = 0; i < count && i < PROCESSES_SHOWN; i++)
		printf("%s %.0f%% %s", i ? "," : "", percent_of(list[i].weight, whole),
		       list[i].name);
	puts(count > PROCESSES_SHOWN ? ", ... (--by process shows more)" : "");
}

int top_print_processes(const struct top_compare *compare, const struct profile *profile)
{
	struct intern values = INTERN_INIT;
	struct value_numbers numbers;
	struct weighted_value *list = NULL;
	uint32_t count = 0;
	int err = number_label_values(&numbers, profile, "process", &values);

	if (!err)
		list = weigh_values(compare, profile, &values, &numbers, &count);
	/* One value is that of samples without a process. */
	if (count && values.count > 2)
		print_processes(list, count, values.count - 1);
	err = list ? 0 : -ENOMEM;
	free(list);
	free(numbers.threads);
	free(numbers.contexts);
	intern_free(&values);
	return err;
}
