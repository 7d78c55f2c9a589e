/* profile/aggregate/costs: the costs that the agent has written to a report. */
#include "profile/aggregate/costs.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/agent/report.h"
#include "core/cost.h"
#include "core/fd.h"
#include "engine/collect/label_chunk.h"
#include "test/fixtures/suite.h"

/* The header of an engine's chunk: its start is at 32. */
static const uint8_t header_bytes[68] = "FLR\0\2\0\0\0";

static void costs_of(const struct report_costs *written, struct costs *costs)
{
	int engine_fd = memfd_create("engine", MFD_CLOEXEC),
	    fd = memfd_create("labels", MFD_CLOEXEC);
	struct report report = { .parts = { { .fd = engine_fd } },
				 .part_count = 1,
				 .costs = *written };
	static uint8_t data[65536];
	struct jfr_header header;
	struct jfr_event event;
	struct jfr_error error;
	struct jfr_chunk chunk;
	struct jfr_scan scan;
	off_t length;

	ck_assert_int_eq(fd_write(engine_fd, header_bytes, sizeof(header_bytes), 0), 0);
	ck_assert_int_eq(label_chunk_write(fd, &report), 0);
	length = lseek(fd, 0, SEEK_END);
	ck_assert_int_eq(fd_read(fd, data, (size_t)length, 0), 0);
	ck_assert_int_eq(jfr_header_read(&header, data, (uint64_t)length, 0, &error), 0);
	ck_assert_int_eq(jfr_chunk_open(&chunk, data, &header), 0);
	*costs = (struct costs){ 0 };
	jfr_scan_start(&scan, &chunk, JFR_MASK(JFR_COST));
	while (jfr_scan_next(&scan, &event))
		costs_read(costs, &chunk, &event);
	jfr_chunk_close(&chunk);
	close(engine_fd);
	close(fd);
}

START_TEST(from_report_to_reader)
{
	static const struct report_costs written = {
		.elapsed_ns = 1000,
		.program_ns = 20000,
		.fixed_ns = 10,
		.kinds = { [COST_CPU] = { 3, 120, 1000, 250 },
			   [COST_WALL] = { 4, 20, 1000, 1000 },
			   [COST_INTERPRETERS] = { 3, 60, 0, 0 } },
	};
	struct costs costs, twice;
	char text[256];

	costs_of(&written, &costs);
	ck_assert(costs.is_known);
	ck_assert_double_eq(costs.program_ns, 20000);
	ck_assert_double_eq(costs.elapsed_ns, 1000);
	ck_assert_double_eq(costs.kinds[COSTS_AGENT].cpu_ns, 10);
	ck_assert_double_eq(costs.kinds[COSTS_CPU].samples, 3);
	ck_assert_double_eq(costs.kinds[COSTS_CPU].cpu_ns, 120);
	ck_assert_double_eq(costs.kinds[COSTS_INTERPRETERS].cpu_ns, 60);
	ck_assert_double_eq(costs_sum(&costs), 150);
	ck_assert_double_eq(costs_kept(&costs, COSTS_CPU), 0.25);
	ck_assert_double_eq(costs_kept(&costs, COSTS_WALL), 1);
	ck_assert_double_eq(costs_kept(&costs, COSTS_MEMORY), 1);
	twice = costs;
	costs_add(&twice, &costs);
	ck_assert_double_eq(costs_sum(&twice), 300);
	ck_assert_double_eq(costs_kept(&twice, COSTS_CPU), 0.25);
	ck_assert(costs_text(&costs, text, sizeof(text)));
	ck_assert_str_eq(text,
			 "ASPROF_AGENT_BUDGET kept 25% of the cpu samples; the totals are right");
}
END_TEST

START_TEST(nothing_reduced_or_unknown)
{
	static const struct report_costs none = { 0 }, all = { .elapsed_ns = 1000,
							       .kinds = { { 3, 120, 1000, 970 } } };
	struct costs costs;
	char text[256];

	costs_of(&none, &costs);
	ck_assert(!costs.is_known);
	costs_of(&all, &costs);
	ck_assert(costs.is_known);
	ck_assert(!costs_text(&costs, text, sizeof(text)));
	ck_assert_str_eq(text, "");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("costs");

	tcase_add_test(tcase, from_report_to_reader);
	tcase_add_test(tcase, nothing_reduced_or_unknown);
	return suite_run(tcase);
}
