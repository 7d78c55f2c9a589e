#include "decoder/commands/top_by_label.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "decoder/commands/top_table.h"
#include "decoder/output/message.h"
#include "profile/basics/confidence.h"
#include "profile/basics/intern.h"
#include "profile/basics/text.h"

/* Number of columns if the terminal's width is unknown. */
#define COLUMNS_SHOWN 8
#define COLUMN_WIDTH  11 /* the least */

/* Characters of a terminal's line that columns leave for the function's name. */
#define NAME_ROOM 40

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

static double row_weight(const struct top_table *t, uint32_t key)
{
	return top_table_self_share(t, key, 0) + top_table_total_share(t, key, 0) / 1000;
}

static int compare_value_weight(const void *a, const void *b)
{
	const struct weighted_value *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Returns how many columns fit the terminal, with space for the names. */
static uint32_t columns_shown(const struct top_output *output)
{
	if (output->args->json)
		return UINT32_MAX;
	return output->width > 5 * COLUMN_WIDTH ? (output->width - 2 * COLUMN_WIDTH) / COLUMN_WIDTH
						: COLUMNS_SHOWN + 1;
}

/* Returns the width of a column: that of the longest name if the terminal has room for it. */
static unsigned column_width(const struct top_table *t)
{
	unsigned longest = COLUMN_WIDTH, room = t->output->width, width;

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
static size_t common_prefix_length(const struct top_table *t, unsigned width)
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
static bool name_is_cut(const struct top_table *t, size_t common, unsigned width)
{
	for (uint32_t c = 1; c < t->column_count; c++)
		if (text_width(t->columns[c].name + common) >= width)
			return true;
	return false;
}

/* Print full names above the table, with numbers that stand for them in the heading. */
static void print_legend(const struct top_table *t)
{
	putchar('\n');
	for (uint32_t c = 1; c < t->column_count; c++)
		printf("%4u  %s\n", c, t->columns[c].name);
}

/* Print the names of the columns, or their numbers. */
static void print_headings(const struct top_table *t, bool numbered, size_t common, unsigned width)
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
static double column_max_error(const struct top_table *t, uint32_t column)
{
	double most = 0;

	for (uint32_t i = 0; i < top_table_rows(t); i++) {
		double percent = top_table_self_share(t, t->rows[i].key, column);
		struct interval interval = top_table_interval(t, percent, column);

		most = fmax(most,
			    fmax(100 * interval.high - percent, percent - 100 * interval.low));
	}
	return most;
}

/* Print the largest error of each column, as there is no space for an interval of each share. */
static void print_max_errors(const struct top_table *t, unsigned width)
{
	double most = 0;

	for (uint32_t c = 0; c < t->column_count; c++)
		most = fmax(most, column_max_error(t, c));
	if (2 * most <= 1)
		return;
	for (uint32_t c = 0; c < t->column_count; c++)
		printf("%*.0f%%", (int)width - 1, ceil(column_max_error(t, c)));
	printf("  at most plus or minus, with 95%% confidence\n");
}

/* VALUES: number of the label's values; some may have no column. */
static void print_by(const struct top_table *t, uint32_t values)
{
	uint32_t shown = t->column_count;
	const char *by = t->output->args->by;
	unsigned width = column_width(t);
	size_t common = common_prefix_length(t, width);
	bool numbered = name_is_cut(t, common, width);

	if (numbered) {
		common = 0;
		width = COLUMN_WIDTH;
	}
	printf("%s: ", metric_texts[t->output->metric].name);
	top_table_print_amounts(t, 0);
	printf(", by %s: %u", by, values);
	if (common)
		printf(", without %.*s", (int)common, t->columns[1].name);
	putchar('\n');
	if (numbered)
		print_legend(t);
	putchar('\n');
	print_headings(t, numbered, common, width);
	for (uint32_t c = 0; c < shown; c++)
		top_table_print_percent(t, (int)width - 1,
					top_percent_of(t->columns[c].functions.weight,
						       t->columns[0].functions.weight),
					0);
	printf("  of the whole\n");
	print_max_errors(t, width);
	for (uint32_t i = 0; i < top_table_rows(t); i++) {
		for (uint32_t c = 0; c < shown; c++)
			top_table_print_percent(t, (int)width - 1,
						top_table_self_share(t, t->rows[i].key, c), c);
		printf("  ");
		top_table_print_name(t, i, shown * width + 2);
	}
	top_table_print_omitted(t);
	if (shown <= values)
		printf("... and %u more of %s (--json has all)\n", values + 1 - shown, by);
}

/* Print PARTS of all columns, and the intervals of their shares. */
static void print_by_side_json(const struct top_table *t, const char *name, const double *parts)
{
	printf(",\"%s\":[", name);
	for (uint32_t c = 0; c < t->column_count; c++) {
		printf(c ? "," : "");
		json_number(stdout, parts[c]);
	}
	printf("],\"%s_interval\":[", name);
	for (uint32_t c = 0; c < t->column_count; c++) {
		printf(c ? "," : "");
		top_table_json_interval(t, parts[c], c);
	}
	putchar(']');
}

static void print_by_json(const struct top_table *t)
{
	top_table_json_head(t);
	printf("\"by\":");
	json_string(stdout, t->output->args->by);
	printf(",\"columns\":[");
	for (uint32_t c = 0; c < t->column_count; c++) {
		printf("%s{\"name\":", c ? "," : "");
		json_string(stdout, t->columns[c].name);
		top_table_json_number("weight", t->columns[c].functions.weight);
		top_table_json_number("samples", t->columns[c].functions.samples);
		putchar(',');
		interval_json_effective(stdout, "effective_samples",
					t->columns[c].functions.effective);
		putchar('}');
	}
	printf("],\"functions\":[");
	for (uint32_t i = 0; i < top_table_rows(t); i++) {
		size_t at = (size_t)(t->rows[i].key - 1) * t->column_count;

		printf(i ? "," : "");
		top_table_json_name(t, i);
		print_by_side_json(t, "self", &t->self[at]);
		print_by_side_json(t, "total", &t->total[at]);
		putchar('}');
	}
	printf("],\"losses\":");
	losses_json(stdout, t->output->losses);
	printf("}\n");
}

static bool is_tag(const char *label)
{
	static const char *const others[] = { "process=", "host=",    "executable=",
					      "group=",   "machine=", "profiled_since=" };

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
static struct weighted_value *weigh_values(const struct top_output *output, const struct profile *p,
					   const struct intern *values,
					   const struct value_numbers *numbers, uint32_t *count)
{
	struct weighted_value *list = calloc((size_t)values->count + 1, sizeof(*list));

	*count = 0;
	for (uint32_t number = 1; list && number <= values->count; number++)
		list[number - 1] =
			(struct weighted_value){ intern_text(values, number), number, 0 };
	for (uint32_t i = 0; list && i < p->count; i++) {
		const struct sample *s = &p->samples[i];

		if (s->metric == output->metric)
			list[sample_value_number(numbers, s) - 1].weight +=
				output->by_total ? s->total : s->count;
	}
	if (list)
		qsort(list, values->count, sizeof(*list), compare_value_weight);
	while (list && *count < values->count && list[*count].weight > 0)
		++*count;
	return list;
}

static int add_column(struct top_table *t, const struct profile *profile, const char *name,
		      const struct label_value *part)
{
	struct top_column *column = &t->columns[t->column_count];
	int err = functions_of_some(&column->functions, profile, t->output->metric,
				    t->output->by_total, sample_has_value, part);

	column->name = name;
	column->profile = profile;
	t->column_count += !err;
	return err;
}

int top_by_label(const struct top_output *output, const struct profile *profile)
{
	struct intern values = INTERN_INIT;
	struct value_numbers numbers;
	struct label_value part = { .numbers = &numbers };
	struct top_table t = { .output = output };
	struct weighted_value *list = NULL;
	uint32_t value_count = 0;
	int err = number_label_values(&numbers, profile, output->args->by, &values);

	if (!err)
		list = weigh_values(output, profile, &values, &numbers, &value_count);
	t.columns = list ? calloc((size_t)value_count + 1, sizeof(*t.columns)) : NULL;
	err = t.columns ? add_column(&t, profile, "all", &part) : -ENOMEM;
	for (uint32_t i = 0; i < value_count && t.column_count < columns_shown(output) && !err;
	     i++) {
		part.value = list[i].number;
		err = add_column(&t, profile, list[i].name, &part);
	}
	if (!err)
		err = top_table_fill(&t, row_weight);
	if (!err && output->args->json)
		print_by_json(&t);
	else if (!err)
		print_by(&t, value_count);
	if (!err && value_count == 1 && !strcmp(list[0].name, NO_VALUE))
		message_print("top: no sample has the label '%s'%s", output->args->by,
			      strcmp(output->args->by, "thread") ? ""
								 : "; --threads splits by thread");
	top_table_free(&t);
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
		printf("%s %.0f%% %s", i ? "," : "", top_percent_of(list[i].weight, whole),
		       list[i].name);
	puts(count > PROCESSES_SHOWN ? ", ... (--by process shows more)" : "");
}

int top_print_processes(const struct top_output *output, const struct profile *profile)
{
	struct intern values = INTERN_INIT;
	struct value_numbers numbers;
	struct weighted_value *list = NULL;
	uint32_t count = 0;
	int err = number_label_values(&numbers, profile, "process", &values);

	if (!err)
		list = weigh_values(output, profile, &values, &numbers, &count);
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
