/* The cost for a process of delivering RECORDING to the server at URL by the reporter BY (s3,
 * pyroscope, otlp): one line with the milliseconds of CPU time of the first delivery, those of a
 * later one (the median), the kilobytes of memory that the first one added, and the milliseconds of
 * aggregating the recording (the median; 0 if it is not aggregated). Only LENGTH bytes from its
 * beginning are sent, by default all. Started by upload.sh and push.sh. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/log.h"
#include "upload/otlp/otlp.h"
#include "upload/pyroscope/pyroscope.h"
#include "upload/s3/s3.h"

#define LATER 21

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long resident_kb(void)
{
	long pages = -1;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file && fscanf(file, "%*d %ld", &pages) != 1)
		pages = -1;
	if (file)
		fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static double deliver(struct reporter *reporter, struct report *report)
{
	double before = cpu_ms();

	report->start_ms += 1000; /* another one */
	report->end_ms += 1000;
	if (reporter->deliver(reporter, report))
		exit(EXIT_FAILURE);
	return cpu_ms() - before;
}

static double add_up(const struct report *report, const struct config *config)
{
	struct report_profile added;
	double before = cpu_ms();

	if (report_profile_read(&added, report, config, true))
		exit(EXIT_FAILURE);
	report_profile_free(&added);
	return cpu_ms() - before;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, LATER, sizeof(values[0]), by_value);
	return values[LATER / 2];
}

static int reporter_open(struct reporter **reporter, const char *by, const struct config *config)
{
	if (!strcmp(by, "s3"))
		return s3_reporter_open(reporter, config);
	if (!strcmp(by, "otlp"))
		return otlp_reporter_open(reporter, config);
	return pyroscope_reporter_open(reporter, config);
}

int main(void)
{
	const char *by = getenv("BY"), *url = getenv("URL"), *path = getenv("RECORDING");
	const char *length = getenv("LENGTH");
	struct config config = { .s3_bucket = "reports",
				 .s3_endpoint = url,
				 .pyroscope_url = url,
				 .otlp_endpoint = url,
				 .profiling_group = "bench",
				 .metadata = "none",
				 .cpu_interval_ns = 100000000,
				 .wall_interval_ns = 1000000000,
				 .native_mem_bytes = OPTION_OFF };
	struct report report = { .part_count = 1,
				 .end_ms = clock_realtime_ns() / 1000000,
				 .interval_ms = 1000,
				 .pid = getpid(),
				 .executable = "bench" };
	double first, later[LATER], added[LATER] = { 0 };
	struct reporter *reporter;
	struct stat file;
	long before;

	if (!by || !url || !path)
		return 77; /* the caller knows */
	report.start_ms = report.end_ms - 1000;
	report.parts[0].fd = open(path, O_RDONLY | O_CLOEXEC);
	log_open(LOG_ERROR, NULL);
	if (report.parts[0].fd < 0 || fstat(report.parts[0].fd, &file))
		return EXIT_FAILURE;
	report.parts[0].length = length ? strtoull(length, NULL, 10) : (uint64_t)file.st_size;
	if (reporter_open(&reporter, by, &config))
		return EXIT_FAILURE;
	before = resident_kb();
	first = deliver(reporter, &report);
	before = resident_kb() - before;
	for (size_t i = 0; i < LATER; i++) {
		later[i] = deliver(reporter, &report);
		if (strcmp(by, "s3"))
			added[i] = add_up(&report, &config);
	}
	printf("%.3f %.3f %ld %.3f\n", first, median(later), before, median(added));
	reporter->close(reporter);
	return 0;
}
