/* Functions side by side. */
#include "decoder/commands/top_compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "decoder/output/message.h"
#include "profile/aggregate/functions.h"
#include "profile/basics/intern.h"
#include "profile/basics/names.h"
#include "profile/basics/text.h"

/* Columns that are shown, where no terminal says how many have room. */
#define COLUMNS_SHOWN 8
#define COLUMN_WIDTH  11

struct column {
	const char *name;
	const struct profile *profile;
	struct functions functions;
};

struct row {
	uint32_t key;
	double order; /* largest first */
};

struct table {
	const struct compare *compare;
	struct column *columns;
	uint32_t column_count;
	uint32_t value_count; /* that the label has: a column for each but for those without room */
	struct intern keys;   /* of functions: name, NUL, module */
	struct row *rows;     /* in order */
	double *self, *total;
};

static double percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* --- the table -------------------------------------------------------------------------------- */

static const char *top_function_name(const struct profile *p, const struct function *function)
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

/* Fill the rows from the columns' functions; ORDER says where one comes. */
static int table_fill(struct table *t, double (*order)(const struct table *t, uint32_t key))
{
	struct buf scratch = BUF_INIT(16u << 20);
	uint32_t key;
	int err = 0;

	/* First the keys: then it is known how many there are. */
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
	unsigned limit = t->compare->args->limit;

	return limit && limit < t->keys.count ? limit : t->keys.count;
}

/* The name and the module of a row, behind USED columns. */
static void print_row_name(const struct table *t, uint32_t row, unsigned used)
{
	const char *name = row_name(t, row), *module = row_module(t, row);
	unsigned width = t->compare->width, left = width > used + 6 ? width - used : 0;
	size_t length = strlen(module), taken = length + 3;

	/* A Java method's name has its class in it already. */
	if (!strncmp(name, module, length) && (name[length] == '.' || !name[length]))
		module = "";
	if (left && taken < left / 2)
		left -= (unsigned)taken;
	names_print(name, left, t->compare->args->full_names);
	if (*module)
		printf(" [%s]", module);
	putchar('\n');
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

/* --- beside a base ---------------------------------------------------------------------------- */

enum { NEW, BASE, SIDES };

static double row_change(const struct table *t, uint32_t key)
{
	double self = fabs(self_share(t, key, NEW) - self_share(t, key, BASE));
	double total = fabs(total_share(t, key, NEW) - total_share(t, key, BASE));

	/* What calls does change with what it calls: that decides among equals alone. */
	return self + total / 1000;
}

static void print_base(const struct table *t)
{
	printf("%s: ", metric_texts[t->compare->metric].name);
	print_amounts(t, NEW);
	printf("; base: ");
	print_amounts(t, BASE);
	printf("\n\n   self     base   change    total     base   change  function\n");
	for (uint32_t i = 0; i < rows_shown(t); i++) {
		uint32_t key = t->rows[i].key;
		double self = self_share(t, key, NEW), was = self_share(t, key, BASE);
		double total = total_share(t, key, NEW), total_was = total_share(t, key, BASE);

		printf("%6.2f%%  %6.2f%% %+8.2f  %6.2f%%  %6.2f%% %+8.2f  ", self, was, self - was,
		       total, total_was, total - total_was);
		print_row_name(t, i, 56);
	}
	print_omitted_rows(t);
}

static void print_base_json(const struct table *t)
{
	static const char *const names[SIDES][2] = { { "self", "total" },
						     { "base_self", "base_total" } };

	print_json_head(t);
	printf("\"weight\":");
	json_number(stdout, t->columns[NEW].functions.weight);
	print_json_number("base_weight", t->columns[BASE].functions.weight);
	printf(",\"functions\":[");
	for (uint32_t i = 0; i < rows_shown(t); i++) {
		size_t at = (size_t)(t->rows[i].key - 1) * SIDES;

		printf(i ? "," : "");
		print_json_names(t, i);
		for (unsigned side = 0; side < SIDES; side++) {
			print_json_number(names[side][0], t->self[at + side]);
			print_json_number(names[side][1], t->total[at + side]);
		}
		putchar('}');
	}
	printf("]}\n");
}

int top_compare_base(const struct compare *compare, const struct profile *profile,
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

/* --- by a label ------------------------------------------------------------------------------- */

/* The value of KEY in LABELS, lines of "key=value": its length, and where it is; NULL: nowhere. */
static size_t find_label(const char *labels, const char *key, const char **value)
{
	size_t length = strlen(key);

	for (; *labels; labels += strcspn(labels, "\n"), labels += *labels == '\n')
		if (!strncmp(labels, key, length) && labels[length] == '=') {
			*value = labels + length + 1;
			return strcspn(*value, "\n");
		}
	*value = NULL;
	return 0;
}

/* Which samples are a column's: by the number of their label's value, which is that of what their thread worked
 * on, else of their recording. */
struct numbers {
	uint32_t *threads;  /* by thread */
	uint32_t *contexts; /* by name; 0: it has none */
};

struct part {
	const struct numbers *numbers;
	uint32_t value; /* 0: all */
};

static uint32_t sample_value_number(const struct numbers *numbers, const struct sample *s)
{
	uint32_t own = s->context ? numbers->contexts[s->context] : 0;

	return own ? own : numbers->threads[s->thread];
}

/* A value of the label, and what has it. */
struct value {
	const char *name;
	uint32_t number;
	double weight;
};

static bool sample_has_value(const void *arg, const struct sample *sample)
{
	const struct part *part = arg;

	return !part->value || sample_value_number(part->numbers, sample) == part->value;
}

static double row_weight(const struct table *t, uint32_t key)
{
	return self_share(t, key, 0) + total_share(t, key, 0) / 1000;
}

static int compare_value_weight(const void *a, const void *b)
{
	const struct value *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* As many as the terminal has room for, with some for the names. */
static uint32_t columns_shown(const struct compare *compare)
{
	if (compare->args->json)
		return UINT32_MAX;
	return compare->width > 5 * COLUMN_WIDTH
		       ? (compare->width - 2 * COLUMN_WIDTH) / COLUMN_WIDTH
		       : COLUMNS_SHOWN + 1;
}

/* Whether all columns are called differently as far as there is room for it. */
static bool names_differ_when_cut(const struct table *t)
{
	for (uint32_t c = 1; c < t->column_count; c++)
		for (uint32_t other = 1; other < c; other++)
			if (!strncmp(t->columns[c].name, t->columns[other].name, COLUMN_WIDTH - 1))
				return false;
	return true;
}

/* How much of their names all columns but the first have in common, where it is that which leaves no room
 * for the rest; else 0. */
static size_t common_prefix_length(const struct table *t)
{
	const char *first = t->column_count > 1 ? t->columns[1].name : "";
	size_t common = t->column_count > 2 ? strlen(first) : 0, longest = 0;

	for (uint32_t c = 1; c < t->column_count; c++) {
		const char *name = t->columns[c].name;
		size_t same = 0;

		while (same < common && name[same] == first[same])
			same++;
		common = same;
		longest = strlen(name) > longest ? strlen(name) : longest;
	}
	while (common && (first[common] & 0xc0) == 0x80) /* whole characters */
		common--;
	return longest < COLUMN_WIDTH || names_differ_when_cut(t) ? 0 : common;
}

static void print_heading(const char *name)
{
	char cut[COLUMN_WIDTH];

	snprintf(cut, sizeof(cut), "%s", name);
	text_clean_string(cut); /* it may have been cut inside a character */
	printf("%*s", COLUMN_WIDTH, cut);
}

static void print_by(const struct table *t)
{
	uint32_t shown = t->column_count;
	const char *by = t->compare->args->by;
	size_t common = common_prefix_length(t);

	printf("%s: ", metric_texts[t->compare->metric].name);
	print_amounts(t, 0);
	printf(", by %s: %u", by, t->value_count);
	if (common)
		printf(", without %.*s", (int)common, t->columns[1].name);
	printf("\n\n");
	for (uint32_t c = 0; c < shown; c++)
		print_heading(t->columns[c].name + (c ? common : 0));
	printf("  self\n");
	for (uint32_t c = 0; c < shown; c++)
		printf("%*.2f%%", COLUMN_WIDTH - 1,
		       percent_of(t->columns[c].functions.weight, t->columns[0].functions.weight));
	printf("  of the whole\n");
	for (uint32_t i = 0; i < rows_shown(t); i++) {
		for (uint32_t c = 0; c < shown; c++)
			printf("%*.2f%%", COLUMN_WIDTH - 1, self_share(t, t->rows[i].key, c));
		printf("  ");
		print_row_name(t, i, shown * COLUMN_WIDTH + 2);
	}
	print_omitted_rows(t);
	if (shown <= t->value_count)
		printf("... and %u more of %s (--json has all)\n", t->value_count + 1 - shown, by);
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
		putchar('}');
	}
	printf("],\"functions\":[");
	for (uint32_t i = 0; i < rows_shown(t); i++) {
		const double *sides[] = { t->self, t->total };

		printf(i ? "," : "");
		print_json_names(t, i);
		for (unsigned side = 0; side < 2; side++) {
			printf(side ? ",\"total\":[" : ",\"self\":[");
			for (uint32_t c = 0; c < t->column_count; c++) {
				printf(c ? "," : "");
				json_number(
					stdout,
					sides[side]
					     [(size_t)(t->rows[i].key - 1) * t->column_count + c]);
			}
			putchar(']');
		}
		putchar('}');
	}
	printf("]}\n");
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

/* The number in VALUES of all tags in LABELS together, as "key=value,key=value"; 0 without memory. */
static uint32_t intern_tags(struct intern *values, const char *labels)
{
	struct buf tags = BUF_INIT(strlen(labels) + sizeof("(not told)"));
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
		err = buf_append_string(&tags, "(not told)");
	if (!err)
		number = intern(values, tags.data, tags.length);
	buf_free(&tags);
	return number;
}

/* The number in VALUES of what LABELS have for KEY; 0 without memory. */
static uint32_t intern_label(struct intern *values, const char *labels, const char *key)
{
	const char *value;
	size_t length = find_label(labels, key, &value);

	if (!value && !strcmp(key, "tag"))
		return intern_tags(values, labels);
	if (!value) {
		value = "(not told)";
		length = strlen(value);
	}
	return intern(values, value, length);
}

static bool number_threads(uint32_t *numbers, const struct profile *p, const char *key,
			   struct intern *values)
{
	/* (What has no sample has no column.) */
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
	size_t length;

	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t context = p->samples[i].context;

		if (!context || numbers[context])
			continue;
		length = find_label(intern_text(&p->names, context), key, &value);
		numbers[context] = value ? intern(values, value, length) : 0;
		if (value && !numbers[context])
			return false;
	}
	return true;
}

/* The numbers of all values of KEY. Returns 0, or -ENOMEM; to be freed in any case. */
static int number_label_values(struct numbers *numbers, const struct profile *p, const char *key,
			       struct intern *values)
{
	numbers->threads = calloc((size_t)p->threads.count + 1, sizeof(*numbers->threads));
	numbers->contexts = calloc((size_t)p->names.count + 1, sizeof(*numbers->contexts));
	return numbers->threads && numbers->contexts &&
			       number_threads(numbers->threads, p, key, values) &&
			       number_contexts(numbers->contexts, p, key, values)
		       ? 0
		       : -ENOMEM;
}

/* What has any weight, the heaviest first; NULL without memory. */
static struct value *weigh_values(const struct compare *compare, const struct profile *p,
				  const struct intern *values, const struct numbers *numbers,
				  uint32_t *count)
{
	struct value *list = calloc((size_t)values->count + 1, sizeof(*list));

	*count = 0;
	for (uint32_t number = 1; list && number <= values->count; number++)
		list[number - 1] = (struct value){ intern_text(values, number), number, 0 };
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
		      const struct part *part)
{
	struct column *column = &t->columns[t->column_count];
	int err = functions_of_some(&column->functions, profile, t->compare->metric,
				    t->compare->by_total, sample_has_value, part);

	column->name = name;
	column->profile = profile;
	t->column_count += !err;
	return err;
}

int top_compare_by_label(const struct compare *compare, const struct profile *profile)
{
	struct intern values = INTERN_INIT;
	struct numbers numbers;
	struct part part = { .numbers = &numbers };
	struct table t = { .compare = compare };
	struct value *list = NULL;
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
	table_free(&t);
	free(list);
	free(numbers.threads);
	free(numbers.contexts);
	intern_free(&values);
	return err;
}
