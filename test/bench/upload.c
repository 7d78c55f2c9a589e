/* What this process pays for deliveries of a recording of 50 kB, by the settings in its
 * environment: one line with the milliseconds of CPU of the first delivery, those of a later one
 * (the median), and the kilobytes of memory that the first one added. Started by upload.sh. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/options/config.h"
#include "upload/s3/s3.h"

#define RECORDING_BYTES 50000
#define LATER           21

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

static double deliver(struct reporter *s3, struct report *report)
{
	double before = cpu_ms();

	report->end_ms += 1000; /* another object */
	if (s3->deliver(s3, report))
		exit(EXIT_FAILURE);
	return cpu_ms() - before;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	struct config config = { .s3_bucket = "reports",
				 .s3_endpoint = getenv("ENDPOINT"),
				 .profiling_group = "bench",
				 .metadata = "none" };
	struct report report = { .part_count = 1,
				 .end_ms = clock_realtime_ns() / 1000000,
				 .interval_ms = 1000,
				 .pid = getpid(),
				 .executable = "bench" };
	double first, later[LATER];
	struct reporter *s3;
	long before;

	report.parts[0] = (struct report_part){ .fd = open("test/fixtures/jfr/native.jfr",
							   O_RDONLY | O_CLOEXEC),
						.length = RECORDING_BYTES };
	log_open(LOG_ERROR, NULL);
	if (report.parts[0].fd < 0 || s3_reporter_open(&s3, &config))
		return EXIT_FAILURE;
	before = resident_kb();
	first = deliver(s3, &report);
	before = resident_kb() - before;
	for (size_t i = 0; i < LATER; i++)
		later[i] = deliver(s3, &report);
	qsort(later, LATER, sizeof(later[0]), by_value);
	printf("%.3f %.3f %ld\n", first, later[LATER / 2], before);
	s3->close(s3);
	return 0;
}
