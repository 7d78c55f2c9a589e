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
	uint32_t from, to; /* indexes in time_table.samples */
	double weight;
	bool is_omitted;
};

struct time_table {
	const struct top_time *top;
	const struct profile *profile;
	uint32_t *samples; /* numbers of the metric's samples, sorted by time */
	uint32_t sample_count;
	struct function_table functions;
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
	if (by[4] && (args_duration(by + 5, interval_ns) || *interval_ns % LEAST_NS))
		*interval_ns = 0;
	return true;
}

static int compare_times(const void *a, const void *b, void *profile)
{
	const struct sample *samples = ((const struct profile *)profile)->samples;
	const struct sample *x = &samples[*(const uint32_t *)a],
			    *y = &samples[*(const uint32_t *)b];

	if (x->time_ms != y->time_ms)
		return x->time_ms < y->time_ms ? -1 : 1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static int sort_samples(struct time_table *t)
{
	const struct profile *p = t->profile;

	t->samples = calloc((size_t)p->count + 1, sizeof(*t->samples));
	if (!t->samples)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->count; i++)
		if (p->samples[i].metric == (uint32_t)t->top->metric)
			t->samples[t->sample_count++] = i;
	qsort_r(t->samples, t->sample_count, sizeof(*t->samples), compare_times,
		(void *)(uintptr_t)p);
	return 0;
}

static const struct sample *sample_at(const struct time_table *t, uint32_t index)
{
	return &t->profile->samples[t->samples[index]];
}

/* Number of S's interval, from 1970 on. */
static int64_t interval_number(const struct time_table *t, const struct sample *s)
{
	return s->time_ms / (int64_t)(t->top->interval_ns / LEAST_NS);
}

/* Make the rows, also for intervals without samples. */
static int make_rows(struct time_table *t)
{
	int64_t first, last;
	uint32_t at = 0;

	if (!t->sample_count)
		return 0;
	first = interval_number(t, sample_at(t, 0));
	last = interval_number(t, sample_at(t, t->sample_count - 1));
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
		for (; at < t->sample_count && interval_number(t, sample_at(t, at)) == first + i;
		     at++)
			row->weight += t->top->by_total ? sample_at(t, at)->total
							: sample_at(t, at)->count;
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
static int row_functions(struct time_table *t, const struct time_row *row,
			 struct functions *functions)
{
	return functions_of_list(functions, t->profile, &t->functions, t->top->by_total,
				 t->samples + row->from, row->to - row->from);
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

static int print_row(struct time_table *t, const struct time_row *row)
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
						 top_function_name(t->profile, function));
	}
	text_clean_string(text);
	printf("  ");
	text_print_name(stdout, text, t->top->width > 80 ? t->top->width - 56 : 0);
	putchar('\n');
	functions_free(&functions);
	return 0;
}

static int print_text(struct time_table *t)
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

static int print_json_row(struct time_table *t, const struct time_row *row)
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
		json_string(stdout, top_function_name(t->profile, function));
		printf(",\"module\":");
		json_string(stdout, intern_text(&t->profile->names, function->module));
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

static int print_json(struct time_table *t)
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
	struct time_table t = { .top = top, .profile = profile };
	int err = function_table_open(&t.functions, profile);

	if (!err)
		err = sort_samples(&t);
	if (!err)
		err = make_rows(&t);
	if (!err)
		err = limit_rows(&t);
	if (!err)
		err = top->args->json ? print_json(&t) : print_text(&t);
	function_table_free(&t.functions);
	free(t.samples);
	free(t.rows);
	return err;
}
