/* The reading commands, called as main() calls them, on a recording whose content is known: two
 * seconds from 22:13:20, a chunk each; see fixtures/jfr_sample.h. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoder/commands/commands.h"
#include "test/fixtures/jfr_sample.h"
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

/* Call FUNCTION with the words of LINE, then the recording; what it prints is in PRINTED. */
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

/* All that is printed. */
static void expect(int (*function)(int argc, char **argv), const char *line, const char *text)
{
	ck_assert_int_eq(run(function, line), 0);
	ck_assert_str_eq(printed, text);
}

/* A part of what is printed. */
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
}
END_TEST

START_TEST(losses)
{
	/* Each chunk tells 22 of full rings, 55 that came late, 33 of timers, 44 of the table, 66 stalls. */
	expect_part(cmd_summary, "summary",
		    "Lost      44 samples: taken faster than they could be collected\n"
		    "          110 samples: due while their thread could not take them\n"
		    "          88 living allocations: too many at once to be followed\n"
		    "          132 stalls: more in a second than are told\n"
		    "          66 threads: no timer could be set\n");
	expect_part(
		cmd_summary, "summary --json",
		"\"lost\":{\"ringFull\":44,\"late\":110,\"eventsDropped\":0,\"stackTableFull\":0,"
		"\"threadTableFull\":0,\"contextTableFull\":0,\"tableEvictions\":88,\"stalls\":132,"
		"\"timerFailures\":66}");
}
END_TEST

/* A server has hundreds of threads: the busiest are shown, and how many more there are. */
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

/* Whichever is read first: the settings shown are those of the latest one, java.jfr. */
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

int main(void)
{
	TCase *tcase = tcase_create("commands");

	tcase_add_checked_fixture(tcase, make, clear);
	tcase_add_test(tcase, weights);
	tcase_add_test(tcase, periods);
	tcase_add_test(tcase, threads);
	tcase_add_test(tcase, names);
	tcase_add_test(tcase, losses);
	tcase_add_test(tcase, busiest_threads);
	tcase_add_test(tcase, latest_settings);
	return suite_run(tcase);
}
