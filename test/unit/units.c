/* Units, in input and output. */
#include "core/units.h"

#include <stdio.h>
#include <string.h>

#include "test/fixtures/suite.h"

static const struct {
	const struct unit *units;
	const char *text;
	uint64_t size; /* 0: no such unit */
	bool option;
} names[] = {
	{ duration_units, "ns", 1, false },
	{ duration_units, "us", 1000, true },
	{ duration_units, "h", 3600000000000, true },
	{ duration_units, "d", 86400000000000, false },
	{ duration_units, "", 0, false },
	{ duration_units, "mss", 0, false },
	{ duration_units, "S", 0, false },
	{ size_units, "", 1, true },
	{ size_units, "g", 1 << 30, true },
	{ size_units, "t", 1ull << 40, false },
	{ size_units, "kb", 0, false },
};

START_TEST(by_name)
{
	char longer[16];
	const struct unit *unit;

	/* The length counts, not the NUL. */
	snprintf(longer, sizeof(longer), "%smore", names[_i].text);
	unit = unit_named(names[_i].units, longer, strlen(names[_i].text));
	ck_assert_uint_eq(unit ? unit->size : 0, names[_i].size);
	if (unit)
		ck_assert_int_eq(unit->option, names[_i].option);
}
END_TEST

static const struct {
	const struct unit *units;
	double amount;
	const char *shown;
} amounts[] = {
	{ duration_units, 0, "ns" },      { duration_units, 999, "ns" },
	{ duration_units, 999.6, "us" }, /* which is shown as 1000 of the smaller unit */
	{ duration_units, 1e3, "us" },    { duration_units, 59e9, "s" },
	{ duration_units, 599e9, "s" }, /* ten minutes in seconds are readable */
	{ duration_units, 600e9, "min" }, { duration_units, 7200e9, "h" },
	{ duration_units, 1e300, "d" },   { size_units, 1023, "B" },
	{ size_units, 1023.9, "KiB" },    { size_units, 1ull << 40, "TiB" },
};

START_TEST(to_show)
{
	ck_assert_str_eq(unit_to_show(amounts[_i].units, amounts[_i].amount)->shown,
			 amounts[_i].shown);
}
END_TEST

START_TEST(tables_grow)
{
	const struct unit *const tables[] = { duration_units, size_units };

	for (size_t t = 0; t < 2; t++)
		for (const struct unit *u = tables[t]; u[1].size; u++) {
			ck_assert_uint_lt(u->size, u[1].size);
			ck_assert_uint_lt(u->shown_from, u[1].shown_from);
		}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("units");

	tcase_add_loop_test(tcase, by_name, 0, sizeof(names) / sizeof(names[0]));
	tcase_add_loop_test(tcase, to_show, 0, sizeof(amounts) / sizeof(amounts[0]));
	tcase_add_test(tcase, tables_grow);
	return suite_run(tcase);
}
