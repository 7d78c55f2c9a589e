/* The reading commands, called as main() calls them, on a known recording: two seconds from
 * 22:13:20, a chunk each; see fixtures/jfr_sample.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder/commands/commands.h"
#include "test/fixtures/jfr_sample.h"
#include "test/fixtures/jfr_waits.h"
#include "test/fixtures/suite.h"

static struct sample sample;
static char printed[65536];

static void make(void)
{
	ck_assert_int_eq(sample_make(&sample), 0);
}

static void clear(void)
{
	sample_remove(&sample);
}

/* Call FUNCTION with the words of LINE, then the recording; its output is in PRINTED. */
static int run(int (*function)(int argc, char **argv), const char *line)
{
	int out = memfd_create("out", MFD_CLOEXEC), saved = dup(STDOUT_FILENO), argc = 0, status;
	char words[256], *argv[32];
	ssize_t length;

	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc++] = sample.recording;
	argv[argc] = NULL;
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	status = function(argc, argv);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	length = pread(out, printed, sizeof(printed) - 1, 0);
	printed[length > 0 ? length : 0] = '\0';
	close(out);
	close(saved);
	return status;
}

/* The whole output. */
static void expect(int (*function)(int argc, char **argv), const char *line, const char *text)
{
	ck_assert_int_eq(run(function, line), 0);
	ck_assert_str_eq(printed, text);
}

/* A part of the output. */
static void expect_part(int (*function)(int argc, char **argv), const char *line, const char *text)
{
	ck_assert_int_eq(run(function, line), 0);
	ck_assert_msg(strstr(printed, text), "%s: '%s' is not in\n%s", line, text, printed);
}

#define BURN  "_start;main;ns::Type<int>::run;burn "
#define SLEEP "_start;relay;clock_nanosleep "

START_TEST(weights)
{
	expect(cmd_collapsed, "collapsed --cpu", BURN "4\n" SLEEP "2\n");
	expect(cmd_collapsed, "collapsed --cpu --total", BURN "40000000\n" SLEEP "20000000\n");
	expect(cmd_collapsed, "collapsed --wall", SLEEP "10\n");
	expect(cmd_collapsed, "collapsed --alloc --total", BURN "4096\n");
	expect(cmd_collapsed, "collapsed --alloc --total --scaled", BURN "2097152\n");
	expect(cmd_collapsed, "collapsed --live", BURN "3\n");
}
END_TEST

START_TEST(periods)
{
	static const char *const second_half[] = {
		"--from 1s",
		"--from 1000",
		"--from -1s",
		"--from 22:13:21",
		"--from 2023-11-14T22:13:21Z",
	};
	static const char *const nothing[] = { "--to 22:13:19", "--from 3s", "--from 22:14",
					       "--to 2023-11-14T22:13:19.5Z" };
	char line[64];

	for (size_t i = 0; i < sizeof(second_half) / sizeof(*second_half); i++) {
		snprintf(line, sizeof(line), "collapsed --cpu %s", second_half[i]);
		expect(cmd_collapsed, line, BURN "2\n" SLEEP "1\n");
	}
	for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++) {
		snprintf(line, sizeof(line), "collapsed --cpu %s", nothing[i]);
		expect(cmd_collapsed, line, "");
	}
	/* Between the first and the second sample of the first chunk. */
	expect(cmd_collapsed, "collapsed --cpu --from 22:13:20 --to 22:13:20.0000005", BURN "1\n");
}
END_TEST

START_TEST(threads)
{
	expect(cmd_collapsed, "collapsed --cpu --threads",
	       "[burner tid=1001];" BURN "4\n[tid=1002];" SLEEP "2\n");
	expect(cmd_collapsed, "collapsed --cpu --threads --rename-threads bur.*r=hot",
	       "[hot];" BURN "4\n[tid=1002];" SLEEP "2\n");
	expect(cmd_collapsed, "collapsed --cpu --threads --rename-threads .=all",
	       "[all];" BURN "4\n[all];" SLEEP "2\n");
	expect(cmd_collapsed, "collapsed --cpu --thread 1002", SLEEP "2\n");
}
END_TEST

START_TEST(names)
{
	expect(cmd_collapsed, "collapsed --cpu --include Type", BURN "4\n");
	expect(cmd_collapsed, "collapsed --cpu --exclude Type", SLEEP "2\n");
	expect(cmd_collapsed, "collapsed --wall --include nothing", "");
}
END_TEST

START_TEST(losses)
{
	/* Each chunk reports 22 for full rings, 55 late ones, 33 for timers, 44 for the table, 66
	 * stalls. */
	expect_part(cmd_summary, "summary",
		    "Lost      44 samples: taken faster than they were collected; lengthen the "
		    "sampling intervals\n"
		    "          110 samples: due while their thread could not take them\n"
		    "          154 stacks of retained memory: cut, as there are too many; raise "
		    "ASPROF_AGENT_NATIVE_MEM\n"
		    "          88 living allocations: too many at once to be followed; raise "
		    "ASPROF_AGENT_NATIVE_MEM\n"
		    "          132 stalls: more per second than are recorded\n"
		    "          66 threads: no timer could be set\n");
	expect_part(
		cmd_summary, "summary --json",
		"\"lost\":{\"ringFull\":44,\"late\":110,\"eventsDropped\":0,\"stackTableFull\":0,"
		"\"threadTableFull\":0,\"contextTableFull\":0,\"retainedStacksCut\":154,"
		"\"tableEvictions\":88,\"stalls\":132,"
		"\"memoryRefused\":0,\"timerFailures\":66}");
}
END_TEST

/* The lines that FUNCTION prints on stderr, in PRINTED. */
static void run_for_errors(int (*function)(int argc, char **argv), const char *line, int status)
{
	int err = memfd_create("err", MFD_CLOEXEC), saved = dup(STDERR_FILENO);
	ssize_t length;

	dup2(err, STDERR_FILENO);
	ck_assert_int_eq(run(function, line), status);
	dup2(saved, STDERR_FILENO);
	length = pread(err, printed, sizeof(printed) - 1, 0);
	printed[length > 0 ? length : 0] = '\0';
	close(err);
	close(saved);
}

/* 154 samples are lost, and 22 were taken. No line is printed twice: so each command has another
 * name. */
START_TEST(all_that_print_shares_tell_losses)
{
	static const char lost[] =
		"154 of 176 samples are lost, so shares may be off by 88 points: "
		"lengthen the sampling intervals";
	static const struct {
		int (*function)(int argc, char **argv);
		const char *line, *json; /* in the output; NULL: nothing */
	} rows[] = {
		{ cmd_top, "top1", NULL },
		{ cmd_top, "top2 --json", "\"losses\":{\"lost_samples\":154,\"kept_samples\":22," },
		{ cmd_top, "top3 --by host --json", "\"losses\":{\"lost_samples\":154," },
		{ cmd_waits, "waits3 --json", "\"losses\":{\"lost_samples\":154," },
		{ cmd_collapsed, "collapsed4 --alloc", NULL },
		{ cmd_flamegraph, "flamegraph5 --wall",
		  "\"losses\":\"154 of 176 samples are lost" },
		{ cmd_pprof, "pprof6 -o /dev/null", NULL },
		{ cmd_leaks, "leaks7", NULL },
		{ cmd_leaks, "leaks8 --json", "\"unknown_allocations\":88" },
		{ cmd_lifetimes, "lifetimes9 --json", "\"lost_samples\":154" },
		{ cmd_top, "top10 --live --json", "\"lost_samples\":154" },
		{ cmd_top, "top11 --live --retained --json", "\"lost_samples\":154" },
		{ cmd_nativemem, "nativemem12", NULL },
		{ cmd_nativemem, "nativemem13 --type free", NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run_for_errors(rows[i].function, rows[i].line, 0);
		ck_assert_msg(strstr(printed, lost), "%s: %s", rows[i].line, printed);
		if (rows[i].json)
			expect_part(rows[i].function, rows[i].line, rows[i].json);
	}
	run_for_errors(cmd_top, "live --live", 0);
	ck_assert_ptr_nonnull(strstr(printed, "88 living allocations are unknown"));
	run_for_errors(cmd_top, "part --cpu --to 500ms", 0); /* of the first chunk only */
	ck_assert_msg(strstr(printed, "77 of 88 samples"), "%s", printed);
}
END_TEST

/* Six samples, or three in each of two columns: no share is exact to a point. */
START_TEST(top_tells_how_exact_shares_are)
{
	expect_part(cmd_top, "top --cpu", "%   95% CI  function\n");
	expect_part(cmd_top, "top --cpu --json", "\"total_interval\":[");
	expect_part(cmd_top, "top --cpu --base-to 1s --from 1s", "change     95% CI  function\n");
	expect_part(cmd_top, "top --cpu --base-to 1s --from 1s --json",
		    "\"base_total_interval\":[");
	expect_part(cmd_top, "top --cpu --by host", "%  at most plus or minus");
	expect_part(cmd_top, "top --cpu --by host --json", "\"self_interval\":[[");
}
END_TEST

/* A Java method that was interpreted at first and compiled later, and a library with two names. */
static int name_alike(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		      struct jfr_frame_name *out)
{
	(void)context;
	(void)is_return;
	for (size_t i = 0; i < count; i++) {
		bool native = pcs[i] / 0x10 == 1, late = pcs[i] % 0x10;

		out[i].method_name = native ? "allocates" : "run";
		out[i].class_name = !native ? "Main" : late ? "libjvm.so" : "libjvm.so.1";
		out[i].type = native ? JFR_FRAME_NATIVE
			      : late ? JFR_FRAME_C1
				     : JFR_FRAME_INTERPRETED;
	}
	return 0;
}

/* For the next recording of write_another(): its losses, and its setting "nativemem" (NULL: none). */
static struct jfr_losses another_losses;
static const char *another_interval;

/* Replace the sample by one of allocations on two such stacks; with MEMORY false, of one CPU sample
 * only. */
static void write_another(bool memory)
{
	static const uintptr_t early[] = { 0x10, 0x20 }, late[] = { 0x11, 0x21 };
	int fd = open(sample.recording, O_RDWR | O_TRUNC);
	struct jfr_writer *w;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS, SAMPLE_TICKS), 0);
	if (another_interval) {
		jfr_setting(w, SAMPLE_TICKS, "engine", "builtin");
		jfr_setting(w, SAMPLE_TICKS, "nativemem", another_interval);
	}
	jfr_losses(w, SAMPLE_TICKS, &another_losses);
	if (memory) {
		jfr_malloc(w, SAMPLE_TICKS + 1000, SAMPLE_TID, SAMPLE_STACK(w, early), 0x1000, 100,
			   100);
		jfr_malloc(w, SAMPLE_TICKS + 2000, SAMPLE_TID, SAMPLE_STACK(w, late), 0x2000, 200,
			   200);
	} else {
		jfr_execution_sample(w, SAMPLE_TICKS + 1000, SAMPLE_TID, SAMPLE_STACK(w, early),
				     JFR_STATE_DEFAULT);
	}
	ck_assert_int_eq(jfr_chunk_end(w, SAMPLE_START_NS + SAMPLE_SECOND_NS, 2 * SAMPLE_TICKS,
				       name_alike, NULL, NULL),
			 0);
	jfr_writer_close(w);
	close(fd);
	another_losses = (struct jfr_losses){ 0 };
	another_interval = NULL;
}

START_TEST(leaks_that_look_alike_are_one)
{
	write_another(true);
	expect(cmd_leaks, "leaks",
	       "retained: 300 B in 2 allocations, 1 stack\n\n"
	       "     300 B  100.0%  2 allocations, oldest 1.00 s, grows 0 B/h (over the last 500 "
	       "ms)\n"
	       "      allocates [libjvm.so]\n      Main.run\n");
	expect_part(cmd_leaks, "leaks --json",
		    "\"bytes_per_hour\":0,\"growth_seconds\":0.500,\"stack\":");
}
END_TEST

/* Two snapshots of the same memory, of three stacks that have the same names, and one sample. */
START_TEST(equal_snapshots_have_no_growth)
{
	static const uint64_t bytes[] = { 4096, 65536, 409600 };
	int fd = open(sample.recording, O_RDWR | O_TRUNC);
	struct jfr_writer *w;

	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t ticks = SAMPLE_TICKS * (i + 1);

		ck_assert_int_eq(jfr_chunk_begin(w, SAMPLE_START_NS + i * SAMPLE_SECOND_NS, ticks),
				 0);
		jfr_losses(w, ticks, &another_losses);
		jfr_malloc(w, ticks, SAMPLE_TID, SAMPLE_STACK(w, ((uintptr_t[]){ 0x11, 0x21 })),
			   0x1000, 4096, 8192);
		for (uintptr_t k = 0; k < 3; k++)
			jfr_retained(w, ticks, SAMPLE_STACK(w, ((uintptr_t[]){ 0x11 + k, 0x21 })),
				     &(struct jfr_retained){ .count = 1,
							     .bytes = bytes[k],
							     .oldest = SAMPLE_TICKS });
		ck_assert_int_eq(jfr_chunk_end(w, SAMPLE_START_NS + (i + 1) * SAMPLE_SECOND_NS,
					       ticks + SAMPLE_TICKS, name_alike, NULL, NULL),
				 0);
	}
	jfr_writer_close(w);
	close(fd);
	expect_part(cmd_leaks, "leaks", "468 KiB  100.0%  3 allocations, oldest");
	expect_part(cmd_leaks, "leaks", ", grows 0 B/h (");
	expect_part(cmd_leaks, "leaks --json", "\"bytes_per_hour\":0,");
	expect_part(cmd_leaks, "leaks --raw", "retained: 4 KiB in 1 allocations, 1 stack\n");
}
END_TEST

START_TEST(leaks_mark_an_incomplete_total)
{
	another_losses.table_evictions = 7;
	write_another(true);
	expect_part(cmd_leaks, "leaks", "retained: at least 300 B in 2 allocations, 1 stack\n");
	expect_part(cmd_leaks, "leaks --json", "\"unknown_allocations\":7");
}
END_TEST

/* The message does not suggest a setting that was made. */
START_TEST(an_interval_without_samples_is_named)
{
	static const struct {
		const char *interval, *text;
	} rows[] = {
		{ "524288", "no samples of native memory were recorded at an interval of 512 KiB: "
			    "the program allocated less, or not by malloc; a smaller interval "
			    "records more; there is: cpu (1)" },
		{ "0", "at an interval of 1 B:" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		another_interval = rows[i].interval;
		write_another(false);
		run_for_errors(cmd_leaks, "leaks", 1);
		ck_assert_msg(strstr(printed, rows[i].text), "%s", printed);
		run_for_errors(cmd_top, "top --alloc", 0);
		ck_assert_msg(strstr(printed, rows[i].text), "%s", printed);
	}
}
END_TEST

/* How to record the missing events. (Each command has another name, because no line is printed
 * twice.) */
START_TEST(what_was_not_recorded_has_a_setting)
{
	static const struct {
		int (*function)(int argc, char **argv);
		const char *line, *setting;
		int status;
	} rows[] = {
		{ cmd_leaks, "leaks3", "run --mem 512k, or ASPROF_AGENT_NATIVE_MEM=512k", 1 },
		{ cmd_lifetimes, "lifetimes3", "run --mem 512k, or ASPROF_AGENT_NATIVE_MEM=512k",
		  1 },
		{ cmd_top, "top3 --live", "run --mem 512k, or ASPROF_AGENT_NATIVE_MEM=512k", 0 },
		{ cmd_top, "top4 --lock", "run --lock 10ms, or ASPROF_AGENT_LOCK=10ms", 0 },
		{ cmd_top, "top5 --wall", "run --wall 100ms, or ASPROF_AGENT_WALL_INTERVAL=100ms",
		  0 },
		{ cmd_waits, "waits5", "run --wall 100ms, or ASPROF_AGENT_WALL_INTERVAL=100ms", 0 },
	};

	write_another(false);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run_for_errors(rows[i].function, rows[i].line, rows[i].status);
		ck_assert_msg(strstr(printed, rows[i].setting) &&
				      strstr(printed, "there is: cpu (1)"),
			      "%s: %s", rows[i].line, printed);
	}
}
END_TEST

/* A server has hundreds of threads: the busiest are shown, and the number of the others. */
START_TEST(busiest_threads)
{
	expect_part(cmd_summary, "summary", "Threads   2\n        11  [burner tid=1001]\n");
	expect_part(cmd_summary, "summary -n 1",
		    "Threads   2\n        11  [burner tid=1001]\n"
		    "... and 1 more (-n 0 shows all)\n");
	expect_part(cmd_summary, "summary --json",
		    "\"threads\":[\"[burner tid=1001]\",\"[tid=1002]\"]");
}
END_TEST

/* In any order of reading: the settings shown are those of the latest one, java.jfr. */
START_TEST(latest_settings)
{
	static const char *const lines[] = {
		"summary test/fixtures/jfr/java.jfr test/fixtures/jfr/native.jfr",
		"summary test/fixtures/jfr/native.jfr test/fixtures/jfr/java.jfr",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		expect_part(cmd_summary, lines[i],
			    "Engine    perf_events 4.5\nSampled   cpu 5 ms,");
}
END_TEST

/* Replace the sample by the recording of jfr_waits.h. */
static void write_waits(bool with_waits)
{
	int fd = open(sample.recording, O_RDWR | O_TRUNC);

	ck_assert_uint_gt(waits_record(fd, with_waits), 0);
	close(fd);
}

START_TEST(waits_by_cause)
{
	write_waits(true);
	expect(cmd_waits, "waits --state waiting --locations 2",
	       "wall: 50 s of 5 threads in 10 s: 45 s waiting, 3 s in the run queue, 2 s running\n"
	       "times of states are exact for 20% of this: samples are scaled to the kernel's "
	       "counts\n"
	       "deadlock: pay [payer tid=1004] waits for account_a of refund [refunder "
	       "tid=1005]; refund [refunder tid=1005] waits for account_b of pay [payer "
	       "tid=1004]\n"
	       "\n"
	       "      time   share  threads  cause\n"
	       "      30 s   60.0%        4  lock\n"
	       "      10 s   20.0%        1  file\n"
	       "       2 s    4.0%        1  socket-read\n"
	       "       3 s    6.0%        1  idle\n"
	       "    500 ms                   throttled by the CPU limit (estimate; a part of the "
	       "run queue's time)\n"
	       "\n"
	       "lock  30 s\n"
	       "        10 s   33%  append_log [app]\n"
	       "        10 s   33%  pay [app]\n"
	       "        10 s   33%  others (--locations 0 shows all)\n"
	       "  pay held account_b during 33% of this; it waited for a lock, account_a, held by "
	       "refund [refunder tid=1005]\n"
	       "  refund held account_a during 33% of this; it waited for a lock, account_b, held "
	       "by "
	       "pay [payer tid=1004]\n"
	       "  flush_log held log_mutex during 30% of this; it waited for a file, "
	       "/var/log/app.log\n"
	       "  append_log held log_mutex during 3% of this\n"
	       "\n"
	       "file  10 s\n"
	       "        10 s  100%  flush_log [app]\n"
	       "\n"
	       "socket-read  2 s\n"
	       "         2 s  100%  query [app]\n"
	       "\n"
	       "idle  3 s\n"
	       "         3 s  100%  main [app]\n");
}
END_TEST

START_TEST(waits_by_others)
{
	static const struct {
		const char *line, *text;
	} rows[] = {
		{ "waits --by peer", "       2 s    4.0%        1  tcp 10.0.0.1:5432\n\n" },
		{ "waits --by file", "      10 s   20.0%        1  /var/log/app.log\n\n" },
		{ "waits --by lock", "      10 s   20.0%        2  lock 0x7f10 log_mutex\n" },
		{ "waits --by holder", "       9 s   18.0%        2  flush_log\n" },
		{ "waits --by thread", "      10 s   20.0%        1        2 s       3 s       5 s "
				       "[worker-1 tid=1001]\n" },
		{ "waits --by lock -n 1", "... and 2 more (-n 0 shows all)\n\nlock 0x7f10" },
		{ "waits --thread flusher", "wall: 10 s of 1 thread in 10 s: 10 s waiting, 0 in" },
		/* A part of a thread's samples is not scaled. */
		{ "waits --include burn", "5 s of 1 thread in 10 s: 0 waiting, 1 s in the run " },
		{ "waits --json --by peer", "{\"by\":\"peer\",\"unit\":\"nanoseconds\"," },
		{ "waits --json --cause file", "[{\"name\":\"file\",\"state\":\"waiting\","
					       "\"cause\":\"file\",\"weight\":10000000000,"
					       "\"samples\":100,\"threads\":1," },
		{ "waits --json", "\"deadlocks\":[[{\"function\":\"pay\"," },
	};

	write_waits(true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_part(cmd_waits, rows[i].line, rows[i].text);
	run_for_errors(cmd_waits, "waits --by owner", 2);
	ck_assert_ptr_nonnull(strstr(printed, "takes cause, peer, file, lock, holder or thread"));
	run_for_errors(cmd_waits, "waits --cause gil", 0);
	ck_assert_ptr_nonnull(strstr(
		printed, "no sample passes --cause; there is: lock, file, runnable, running, "));
}
END_TEST

START_TEST(stacks_of_owners)
{
	write_waits(true);
	expect(cmd_collapsed, "collapsed --blocked-by --thread worker-2 --cause lock",
	       "main;append_log;___pthread_mutex_lock;[lock log_mutex held by [flusher "
	       "tid=1003]];main;flush_log;fsync 60\n"
	       "main;append_log;___pthread_mutex_lock;[lock log_mutex held by [worker-1 "
	       "tid=1001]];main;append_log 10\n");
	run_for_errors(cmd_collapsed, "collapsed --blocked-by --cpu", 2);
	ck_assert_ptr_nonnull(strstr(printed, "--blocked-by requires --wall"));
}
END_TEST

START_TEST(waits_are_derived_from_stacks)
{
	write_waits(false);
	expect_part(cmd_waits, "waits",
		    "states and causes are derived from stacks for 100% of this: the recording "
		    "does not have them\n");
	expect_part(cmd_waits, "waits", "       2 s    4.0%        1  socket-read\n");
	expect(cmd_collapsed, "collapsed --cause file", "main;flush_log;fsync 100\n");
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("commands");

	tcase_add_checked_fixture(tcase, make, clear);
	tcase_add_test(tcase, weights);
	tcase_add_test(tcase, periods);
	tcase_add_test(tcase, threads);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, losses);
	tcase_add_test(tcase, all_that_print_shares_tell_losses);
	tcase_add_test(tcase, top_tells_how_exact_shares_are);
	tcase_add_test(tcase, leaks_that_look_alike_are_one);
	tcase_add_test(tcase, equal_snapshots_have_no_growth);
	tcase_add_test(tcase, leaks_mark_an_incomplete_total);
	tcase_add_test(tcase, an_interval_without_samples_is_named);
	tcase_add_test(tcase, what_was_not_recorded_has_a_setting);
	tcase_add_test(tcase, busiest_threads);
	tcase_add_test(tcase, latest_settings);
	tcase_add_test(tcase, waits_by_cause);
	tcase_add_test(tcase, waits_by_others);
	tcase_add_test(tcase, stacks_of_owners);
	tcase_add_test(tcase, waits_are_derived_from_stacks);
	return suite_run(tcase);
}
