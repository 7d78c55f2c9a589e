/* decoder/commands/cmd_longpolls.c: a sleeping thread is counted, and one event represents all of
 * that. The polls in which it slept are found by the event, however far they are from its first
 * sample. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder/commands/commands.h"
#include "engine/jfr/jfr_write.h"
#include "test/fixtures/jfr_sample.h"
#include "test/fixtures/suite.h"

#define MS (SAMPLE_TICKS / 1000)

static char path[] = "/tmp/longpolls-XXXXXX";
static char printed[4096];

/* A poll of SAMPLE_TID from FROM to TO, in ms of the recording. */
static void write_poll(struct jfr_writer *w, uint64_t from, uint64_t to)
{
	uint64_t ends[2] = { from * MS, to * MS };

	jfr_user_event(w, SAMPLE_TICKS + to * MS, SAMPLE_TID,
		       jfr_user_event_type(w, "tokio.PollcatchV1"), (const void *)ends,
		       sizeof(ends));
}

/* Polls of 100, 50 and 300 ms. In the first there is a sample without a span, at 110 ms; one that
 * represents all from 230 to 590 ms, of which the last is between the polls; and one of another
 * thread. */
static void make(void)
{
	struct jfr_writer *w = NULL;
	int fd;

	strcpy(path, "/tmp/longpolls-XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS), 0);
	jfr_setting(w, SAMPLE_TICKS, "clock", "tsc");
	write_poll(w, 100, 200);
	write_poll(w, 220, 270);
	write_poll(w, 280, 580);
	jfr_wall_sample(w, SAMPLE_TICKS + 110 * MS, SAMPLE_TID, SAMPLE_STACK(w, sample_sleep),
			JFR_STATE_SLEEPING, 1, 0);
	jfr_wall_sample(w, SAMPLE_TICKS + 230 * MS, SAMPLE_TID, SAMPLE_STACK(w, sample_sleep),
			JFR_STATE_SLEEPING, 72, 360 * MS);
	jfr_wall_sample(w, SAMPLE_TICKS + 50 * MS, SAMPLE_TID2, SAMPLE_STACK(w, sample_sleep),
			JFR_STATE_SLEEPING, 100, 500 * MS);
	ck_assert_int_eq(jfr_chunk_end(w, SAMPLE_START_NS + SAMPLE_SECOND_NS, 2 * SAMPLE_TICKS,
				       sample_namer, NULL, NULL),
			 0);
	jfr_writer_close(w);
	close(fd);
}

static void clear(void)
{
	unlink(path);
}

/* Only the lines about polls. */
static void expect(const char *minimum, const char *more, const char *text)
{
	char *argv[] = {
		"longpolls", path, (char *)minimum, "--stack-depth=0", (char *)more, NULL
	};
	int out = memfd_create("out", MFD_CLOEXEC), saved = dup(STDOUT_FILENO);
	char heads[4096] = "";
	ssize_t length;

	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	ck_assert_int_eq(cmd_longpolls(more ? 5 : 4, argv), 0);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	length = pread(out, printed, sizeof(printed) - 1, 0);
	printed[length > 0 ? length : 0] = '\0';
	close(out);
	close(saved);
	for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n"))
		if (strstr(line, "thread"))
			strcat(strcat(heads, line), "\n");
	ck_assert_str_eq(heads, text);
}

START_TEST(a_poll_is_found_wherever_the_counting_began)
{
	expect("0us", NULL,
	       "[1.110000] thread 1001 - poll of 10000us\n"
	       "[1.270000] thread 1001 - poll of 49999us\n"
	       "[1.580000] thread 1001 - poll of 299999us\n");
}
END_TEST

START_TEST(a_counted_poll_is_as_long_as_its_last_sample_says)
{
	expect("100ms", NULL, "[1.580000] thread 1001 - poll of 299999us\n");
}
END_TEST

START_TEST(polls_at_times_of_day)
{
	expect("100ms", "--own", "[2023-11-14T22:13:20.579999Z] thread 1001 - poll of 299999us\n");
}
END_TEST

/* The other thread's sample is in no poll, and is printed once. */
START_TEST(samples_without_a_poll)
{
	expect("200ms", "--include-non-pollcatch",
	       "[1.580000] thread 1001 - poll of 299999us\n"
	       "[1.050000] thread 1002 - sample with no pollcatch information\n");
}
END_TEST

/* Three stalls, in a separate chunk: with a span, with a label, and with nothing. */
static void add_stalls(void)
{
	const struct jfr_context contexts[] = {
		{ .trace_id = { 0xab, [15] = 1 },
		  .span_id = { [7] = 2 },
		  .labels = "route=/pay\nuser=7\n",
		  .length = strlen("route=/pay\nuser=7\n") },
		{ .labels = "route=/cart\n", .length = strlen("route=/cart\n") },
		{ .labels = "" },
	};
	struct jfr_writer *w = NULL;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(jfr_writer_open(&w, fd, lseek(fd, 0, SEEK_END)), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS + SAMPLE_SECOND_NS, 2 * SAMPLE_TICKS),
			 0);
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++) {
		jfr_use_context(w, jfr_context(w, &contexts[i]));
		jfr_stall(w, 2 * SAMPLE_TICKS + (i + 1) * 100 * MS, SAMPLE_TID,
			  SAMPLE_STACK(w, sample_sleep), 50 * MS, 3);
	}
	ck_assert_int_eq(jfr_chunk_end(w, SAMPLE_START_NS + 2 * SAMPLE_SECOND_NS, 3 * SAMPLE_TICKS,
				       sample_namer, NULL, NULL),
			 0);
	jfr_writer_close(w);
	close(fd);
}

#define OF_THE_SPAN                                                               \
	"[2023-11-14T22:13:21.100000Z] thread 1001 - stall of 50000us, 3 ready, " \
	"trace_id=ab000000000000000000000000000001, span_id=0000000000000002, "   \
	"route=/pay, user=7\n"
#define OF_THE_THREAD \
	"[2023-11-14T22:13:21.200000Z] thread 1001 - stall of 50000us, 3 ready, route=/cart\n"

static const struct {
	const char *option, *text;
} chosen[] = {
	{ "--from=1s", OF_THE_SPAN OF_THE_THREAD
	  "[2023-11-14T22:13:21.300000Z] thread 1001 - stall of 50000us, 3 ready\n" },
	{ "--label=route=/pay", OF_THE_SPAN },
	{ "--label=route=/cart", OF_THE_THREAD },
	{ "--label=route=/none", "" },
	{ "--trace=ab000000000000000000000000000001", OF_THE_SPAN },
	{ "--trace=00-AB000000000000000000000000000001-0000000000000009-01", OF_THE_SPAN },
	{ "--trace=ab000000000000000000000000000002", "" },
};

START_TEST(stalls_tell_what_was_worked_on)
{
	add_stalls();
	expect("0us", chosen[_i].option, chosen[_i].text);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("longpolls");

	tcase_add_checked_fixture(tcase, make, clear);
	tcase_add_test(tcase, a_poll_is_found_wherever_the_counting_began);
	tcase_add_test(tcase, a_counted_poll_is_as_long_as_its_last_sample_says);
	tcase_add_test(tcase, polls_at_times_of_day);
	tcase_add_test(tcase, samples_without_a_poll);
	tcase_add_loop_test(tcase, stalls_tell_what_was_worked_on, 0,
			    sizeof(chosen) / sizeof(chosen[0]));
	return suite_run(tcase);
}
