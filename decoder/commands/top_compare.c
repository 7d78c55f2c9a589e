#include "decoder/commands/top_compare.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoder/commands/top_table.h"
#include "profile/basics/confidence.h"
#include "profile/basics/text.h"

enum { NEW, BASE, SIDES };

static double row_change(const struct top_table *t, uint32_t key)
{
	double self = fabs(top_table_self_share(t, key, NEW) - top_table_self_share(t, key, BASE));
	double total =
		fabs(top_table_total_share(t, key, NEW) - top_table_total_share(t, key, BASE));

	/* Callers change with their callees, so total only decides between equal ones. */
	return self + total / 1e6;
}

static struct interval interval_of_percents(const struct top_table *t, double now, double was)
{
	struct interval now_in = top_table_interval(t, now, NEW),
			was_in = top_table_interval(t, was, BASE);

	return interval_of_change(now / 100, &now_in, was / 100, &was_in);
}

/* Print NOW, WAS and the difference, with the decimals of the less exact one, and with its interval. */
static void print_change(const struct top_table *t, double now, double was, bool with_intervals)
{
	int places = top_table_percent_digits(t, now, NEW),
	    base_places = top_table_percent_digits(t, was, BASE);
	struct interval change = interval_of_percents(t, now, was);
	char range[TEXT_NUMBER];

	top_table_print_percent(t, 6, now, NEW);
	fputs("  ", stdout);
	top_table_print_percent(t, 6, was, BASE);
	printf(" %+8.*f  ", places < base_places ? places : base_places, now - was);
	if (with_intervals)
		printf("%9s  ", interval_change_text(range, sizeof(range), &change));
}

/* Whether the interval of any displayed change is wider than one percentage point. */
static bool needs_intervals(const struct top_table *t)
{
	for (uint32_t i = 0; i < top_table_rows(t); i++) {
		uint32_t key = t->rows[i].key;
		struct interval self = interval_of_percents(t, top_table_self_share(t, key, NEW),
							    top_table_self_share(t, key, BASE));
		struct interval total = interval_of_percents(t, top_table_total_share(t, key, NEW),
							     top_table_total_share(t, key, BASE));

		if (!interval_digits(&self) || !interval_digits(&total))
			return true;
	}
	return false;
}

static void print_base(const struct top_table *t)
{
	bool with = needs_intervals(t);
	const char *heading = with ? "     95% CI" : "";

	printf("%s: ", metric_texts[t->output->metric].name);
	top_table_print_amounts(t, NEW);
	printf("; base: ");
	top_table_print_amounts(t, BASE);
	printf("\n\n   self     base   change%s    total     base   change%s  function\n", heading,
	       heading);
	for (uint32_t i = 0; i < top_table_rows(t); i++) {
		uint32_t key = t->rows[i].key;

		print_change(t, top_table_self_share(t, key, NEW),
			     top_table_self_share(t, key, BASE), with);
		print_change(t, top_table_total_share(t, key, NEW),
			     top_table_total_share(t, key, BASE), with);
		top_table_print_name(t, i, with ? 78 : 56);
	}
	top_table_print_omitted(t);
}

static void print_base_json(const struct top_table *t)
{
	static const char *const names[SIDES] = { "", "base_" };

	top_table_json_head(t);
	printf("\"weight\":");
	json_number(stdout, t->columns[NEW].functions.weight);
	top_table_json_number("base_weight", t->columns[BASE].functions.weight);
	putchar(',');
	interval_json_effective(stdout, "effective_samples", t->columns[NEW].functions.effective);
	putchar(',');
	interval_json_effective(stdout, "base_effective_samples",
				t->columns[BASE].functions.effective);
	printf(",\"functions\":[");
	for (uint32_t i = 0; i < top_table_rows(t); i++) {
		size_t at = (size_t)(t->rows[i].key - 1) * SIDES;

		printf(i ? "," : "");
		top_table_json_name(t, i);
		for (unsigned side = 0; side < SIDES; side++) {
			const double parts[] = { t->self[at + side], t->total[at + side] };

			for (int k = 0; k < 2; k++) {
				const char *of = k ? "total" : "self";

				printf(",\"%s%s\":", names[side], of);
				json_number(stdout, parts[k]);
				printf(",\"%s%s_interval\":", names[side], of);
				top_table_json_interval(t, parts[k], side);
			}
		}
		putchar('}');
	}
	printf("],\"losses\":");
	losses_json(stdout, t->output->losses);
	printf(",\"base_losses\":");
	losses_json(stdout, t->output->base_losses);
	printf("}\n");
}

int top_compare_base(const struct top_output *output, const struct profile *profile,
		     const struct profile *base)
{
	const struct profile *const sides[SIDES] = { profile, base };
	struct top_table t = { .output = output,
			       .columns = calloc(SIDES, sizeof(*t.columns)),
			       .column_count = SIDES };
	int err = t.columns ? 0 : -ENOMEM;

	for (unsigned side = 0; side < SIDES && !err; side++) {
		t.columns[side].profile = sides[side];
		err = functions_of(&t.columns[side].functions, sides[side], output->metric,
				   output->by_total, 0);
	}
	if (!err)
		err = top_table_fill(&t, row_change);
	if (!err && output->args->json)
		print_base_json(&t);
	else if (!err)
		print_base(&t);
	top_table_free(&t);
	return err;
}
