/* Functions by time: one row for each interval. */
#include "decoder/commands/top_time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/commands/top_table.h"
#include "profile/aggregate/functions.h"
#include "profile/basics/text.h"

#define DEFAULT_NS    1000000000
#define LEAST_NS      1000000
#define INTERVALS_MAX 1000000

/* Functions of an interval that are shown. */
#define FUNCTIONS_TEXT 2
#define FUNCTIONS_JSON 5

#define BAR_WIDTH 20

struct time_row {
	int64_t start_ns;
	uint32_t from, to; /* indexes in the sorted samples */
	double weight;
	bool is_omitted;
};

struct time_table {
	const struct top_time *top;
	struct profile part; /* a view of the profile: its samples of the metric, sorted by time */
	struct time_row *rows;
	uint32_t count, shown;
	double weight, most;
};

bool top_time_parse(const char *by, uint64_t *interval_ns)
{
	static const char name[] = "time";

	if (!by || strncmp(by, name, strlen(name)) != 0 || (by[4] && by[4] != '='))
		return false;
	*interval_ns = DEFAULT_NS;
	if (by[4] && (args_duration(by + 5, interval_ns) || *interval_ns < LEAST_NS))
		*interval_ns = 0;
	return true;
}

static int compare_times(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static int copy_samples(struct time_table *t, const struct profile *profile)
{
	t->part = *profile;
	t->part.count = 0;
	t->part.samples = calloc((size_t)profile->count + 1, sizeof(*t->part.samples));
	if (!t->part.samples)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->count; i++)
		if (profile->samples[i].metric == (uint32_t)t->top->metric)
			t->part.samples[t->part.count++] = profile->samples[i];
	qsort(t->part.samples, t->part.count, sizeof(*t->part.samples), compare_times);
	return 0;
}

/* Number of S's interval, from 1970 on. */
static int64_t interval_number(const struct time_table *t, const struct sample *s)
{
	return s->time_ms / (int64_t)(t->top->interval_ns / LEAST_NS);
}

/* Make the rows, also for intervals without samples. */
static int make_rows(struct time_table *t)
{
	const struct sample *samples = t->part.samples;
	int64_t first, last;
	uint32_t at = 0;

	if (!t->part.count)
		return 0;
	first = interval_number(t, &samples[0]);
	last = interval_number(t, &samples[t->part.count - 1]);
	if (last - first >= INTERVALS_MAX)
		return -ERANGE;
	t->count = (uint32_t)(last - first + 1);
	t->rows = calloc(t->count, sizeof(*t->rows));
	if (!t->rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++) {
		struct time_row *row = &t->rows[i];

		row->start_ns = (first + i) * (int64_t)(t->top->interval_ns / LEAST_NS) * LEAST_NS;
		row->from = at;
		for (; at < t->part.count && interval_number(t, &samples[at]) == first + i; at++)
			row->weight += t->top->by_total ? samples[at].total : samples[at].count;
		row->to = at;
		t->weight += row->weight;
		t->most = row->weight > t->most ? row->weight : t->most;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct time_row *x = *(struct time_row *const *)a, *y = *(struct time_row *const *)b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Omit the lightest rows beyond the limit. */
static int limit_rows(struct time_table *t)
{
	struct time_row **order = calloc((size_t)t->count + 1, sizeof(struct time_row *));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++)
		order[i] = &t->rows[i];
	qsort(order, t->count, sizeof(struct time_row *), compare_rows);
	t->shown = args_limit(t->top->args, t->count);
	for (uint32_t i = t->shown; i < t->count; i++)
		order[i]->is_omitted = true;
	free(order);
	return 0;
}

/* Add up the functions of ROW. Returns 0 (release with functions_free) or -ENOMEM. */
static int row_functions(const struct time_table *t, const struct time_row *row,
			 struct functions *functions)
{
	struct profile part = t->part;

	part.samples += row->from;
	part.count = row->to - row->from;
	return functions_of(functions, &part, t->top->metric, t->top->by_total, 0);
}

static void print_bar(const struct time_table *t, double weight)
{
	int length = t->most > 0 ? (int)(weight / t->most * BAR_WIDTH + 0.5) : 0;

	printf("  ");
	for (int i = 0; i < BAR_WIDTH; i++)
		putchar(i < length ? '#' : ' ');
}

/* Print the time of day with as many decimals as the interval needs. */
static void print_start(const struct time_table *t, int64_t ns)
{
	int64_t second = 1000000000, fraction = ns % second;
	char text[TEXT_NUMBER];

	text_time(text, ns - fraction);
	text[strcspn(text, "Z")] = '\0';
	printf("%s", text);
	if (t->top->interval_ns % (uint64_t)second)
		printf(".%03dZ", (int)(fraction / LEAST_NS));
	else
		putchar('Z');
}

static int print_row(const struct time_table *t, const struct time_row *row)
{
	struct functions functions;
	char weight[TEXT_NUMBER], text[1024] = "";
	size_t used = 0;
	int err = row_functions(t, row, &functions);

	if (err)
		return err;
	print_start(t, row->start_ns);
	printf("%10s", text_amount(weight, row->weight, t->top->unit));
	print_bar(t, row->weight);
	for (uint32_t i = 0; i < functions.count && i < FUNCTIONS_TEXT && used < sizeof(text);
	     i++) {
		const struct function *function = &functions.list[i];

		if (function->self > 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.0f%% %s",
						 i ? ", " : "",
						 100 * function->self / functions.weight,
						 top_function_name(&t->part, function));
	}
	text_clean_string(text);
	printf("  ");
	text_print_name(stdout, text, t->top->width > 80 ? t->top->width - 56 : 0);
	putchar('\n');
	functions_free(&functions);
	return 0;
}

static int print_text(const struct time_table *t)
{
	char amount[TEXT_NUMBER], interval[TEXT_NUMBER];
	int err = 0;

	printf("%s: %s%s%s, %" PRIu32 " intervals of %s\n\n", metric_texts[t->top->metric].name,
	       text_amount(amount, t->weight, t->top->unit), t->top->by_total ? "" : " ",
	       t->top->by_total ? "" : t->top->unit, t->count,
	       text_duration(interval, (double)t->top->interval_ns));
	printf("%s%-*s%10s  %-*s  self%s\n", terminal_style(STYLE_HEADING),
	       t->top->interval_ns % 1000000000 ? 24 : 20, "start", t->top->unit, BAR_WIDTH, "",
	       terminal_style(STYLE_NONE));
	for (uint32_t i = 0; i < t->count && !err; i++)
		if (!t->rows[i].is_omitted)
			err = print_row(t, &t->rows[i]);
	if (t->shown < t->count)
		printf("... and %" PRIu32 " with less (-n 0 shows all)\n", t->count - t->shown);
	return err;
}

static int print_json_row(const struct time_table *t, const struct time_row *row)
{
	struct functions functions;
	int err = row_functions(t, row, &functions);

	if (err)
		return err;
	printf("{\"start_ns\":%" PRId64 ",\"weight\":", row->start_ns);
	json_number(stdout, row->weight);
	printf(",\"functions\":[");
	for (uint32_t i = 0; i < functions.count && i < FUNCTIONS_JSON; i++) {
		const struct function *function = &functions.list[i];

		printf("%s{\"name\":", i ? "," : "");
		json_string(stdout, top_function_name(&t->part, function));
		printf(",\"module\":");
		json_string(stdout, intern_text(&t->part.names, function->module));
		printf(",\"self\":");
		json_number(stdout, function->self);
		printf(",\"total\":");
		json_number(stdout, function->total);
		putchar('}');
	}
	printf("]}");
	functions_free(&functions);
	return 0;
}

static int print_json(const struct time_table *t)
{
	bool any = false;
	int err = 0;

	printf("{\"metric\":\"%s\",\"unit\":\"%s\",\"by\":\"time\",\"interval_ns\":%" PRIu64
	       ",\"weight\":",
	       metric_texts[t->top->metric].name, t->top->unit, t->top->interval_ns);
	json_number(stdout, t->weight);
	printf(",\"intervals\":[");
	for (uint32_t i = 0; i < t->count && !err; i++) {
		if (t->rows[i].is_omitted)
			continue;
		printf(any ? ",\n" : "");
		any = true;
		err = print_json_row(t, &t->rows[i]);
	}
	printf("]}\n");
	return err;
}

int top_print_by_time(const struct top_time *top, const struct profile *profile)
{
	struct time_table t = { .top = top };
	int err = copy_samples(&t, profile);

	if (!err)
		err = make_rows(&t);
	if (!err)
		err = limit_rows(&t);
	if (!err)
		err = top->args->json ? print_json(&t) : print_text(&t);
	free(t.part.samples);
	free(t.rows);
	return err;
}
