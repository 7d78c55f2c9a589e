#include "decoder/commands/top_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/buf.h"
#include "profile/basics/names.h"
#include "profile/basics/text.h"

double top_percent_of(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

const char *top_function_name(const struct profile *p, const struct function *function)
{
	return function->name ? intern_text(&p->names, function->name) : "[no stack]";
}

static uint32_t table_intern_function(struct top_table *t, const struct profile *p,
				      const struct function *function, struct buf *scratch)
{
	buf_reset(scratch);
	if (buf_append_string(scratch, top_function_name(p, function)) ||
	    buf_append(scratch, "", 1) ||
	    buf_append_string(scratch, intern_text(&p->names, function->module)))
		return 0;
	return intern(&t->keys, scratch->data, scratch->length);
}

static const char *row_name(const struct top_table *t, uint32_t row)
{
	return intern_text(&t->keys, t->rows[row].key);
}

static const char *row_module(const struct top_table *t, uint32_t row)
{
	const char *name = row_name(t, row);

	return name + strlen(name) + 1;
}

double top_table_self_share(const struct top_table *t, uint32_t key, uint32_t column)
{
	return top_percent_of(t->self[(size_t)(key - 1) * t->column_count + column],
			      t->columns[column].functions.weight);
}

double top_table_total_share(const struct top_table *t, uint32_t key, uint32_t column)
{
	return top_percent_of(t->total[(size_t)(key - 1) * t->column_count + column],
			      t->columns[column].functions.weight);
}

static int compare_row(const void *a, const void *b, void *arg)
{
	const struct top_row *x = a, *y = b;
	const struct top_table *t = arg;

	if (x->order != y->order)
		return x->order < y->order ? 1 : -1;
	return strcmp(intern_text(&t->keys, x->key), intern_text(&t->keys, y->key));
}

int top_table_fill(struct top_table *t, double (*order)(const struct top_table *t, uint32_t key))
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
		t->rows[key - 1] = (struct top_row){ key, order(t, key) };
	qsort_r(t->rows, t->keys.count, sizeof(*t->rows), compare_row, t);
	buf_free(&scratch);
	return 0;
}

void top_table_free(struct top_table *t)
{
	for (uint32_t c = 0; t->columns && c < t->column_count; c++)
		functions_free(&t->columns[c].functions);
	free(t->columns);
	free(t->rows);
	free(t->self);
	free(t->total);
	intern_free(&t->keys);
}

uint32_t top_table_rows(const struct top_table *t)
{
	return args_limit(t->output->args, t->keys.count);
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

void top_print_stack(const struct profile *p, uint32_t stack, const struct args *args,
		     unsigned width, bool with_modules)
{
	const uint32_t *frames = intern_key(&p->stacks, stack);
	uint32_t depth = intern_length(&p->stacks, stack) / sizeof(*frames);

	for (uint32_t i = 0; i < depth; i++) {
		const struct frame *frame = profile_frame(p, frames[i]);

		if (args->stack_depth && i == args->stack_depth) {
			printf("      ... %u more\n", depth - i);
			break;
		}
		fputs("      ", stdout);
		names_print(intern_text(&p->names, frame->name), width, args->full_names);
		if (with_modules && frame->module && frame->type >= JFR_FRAME_NATIVE &&
		    frame->type != JFR_FRAME_C1)
			printf(" [%s]", intern_text(&p->names, frame->module));
		putchar('\n');
	}
	if (with_modules && !depth)
		puts("      [no stack]");
}

void top_table_print_name(const struct top_table *t, uint32_t row, unsigned used)
{
	top_print_function(row_name(t, row), row_module(t, row), t->output->width, used,
			   t->output->args->full_names, STYLE_NONE);
}

void top_table_print_omitted(const struct top_table *t)
{
	if (top_table_rows(t) < t->keys.count)
		printf("... and %u more (-n 0 shows all)\n", t->keys.count - top_table_rows(t));
}

void top_table_print_amounts(const struct top_table *t, uint32_t column)
{
	const struct functions *f = &t->columns[column].functions;
	char number[TEXT_NUMBER];

	printf("%.0f %s", f->samples, metric_texts[t->output->metric].count_unit);
	if (t->output->by_total)
		printf(", %s", text_amount(number, f->weight, t->output->unit));
}

void top_table_json_name(const struct top_table *t, uint32_t row)
{
	printf("{\"name\":");
	json_string(stdout, row_name(t, row));
	printf(",\"module\":");
	json_string(stdout, row_module(t, row));
}

void top_table_json_head(const struct top_table *t)
{
	printf("{\"metric\":\"%s\",\"unit\":\"%s\",", metric_texts[t->output->metric].name,
	       t->output->unit);
}

void top_table_json_number(const char *name, double number)
{
	printf(",\"%s\":", name);
	json_number(stdout, number);
}

struct interval top_table_interval(const struct top_table *t, double percent, uint32_t column)
{
	return interval_of(percent, 100, t->columns[column].functions.effective);
}

int top_table_percent_digits(const struct top_table *t, double percent, uint32_t column)
{
	struct interval interval = top_table_interval(t, percent, column);

	return interval_digits(&interval);
}

void top_table_json_interval(const struct top_table *t, double part, uint32_t column)
{
	const struct functions *f = &t->columns[column].functions;
	struct interval interval = interval_of(part, f->weight, f->effective);

	interval_json(stdout, &interval);
}

void top_table_print_percent(const struct top_table *t, int width, double percent, uint32_t column)
{
	printf("%*.*f%%", width, top_table_percent_digits(t, percent, column), percent);
}
