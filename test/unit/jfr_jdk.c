/* The output of the JDK's `jfr` for the agent's recordings. */

#include "test/fixtures/jfr_sample.h"
#include "test/fixtures/suite.h"

static struct sample sample;

static void jfr(const char *arguments, struct buf *out)
{
	char command[256];

	snprintf(command, sizeof(command), "jfr %s %s 2>&1", arguments, sample.recording);
	buf_reset(out);
	ck_assert_msg(sample_run(command, out) == 0, "%s: %s", command, buf_string(out));
}

static unsigned count(const char *string, const char *part)
{
	unsigned n = 0;

	for (; (string = strstr(string, part)); string += strlen(part))
		n++;
	return n;
}

/* Both chunks together. */
static const struct {
	const char *type;
	unsigned count;
} totals[] = {
	{ "jdk.ExecutionSample", 6 }, { "profiler.WallClockSample", 2 },
	{ "profiler.Malloc", 4 },     { "profiler.Free", 1 },
	{ "profiler.UserEvent", 2 },  { "asprof.RetainedHeap", 2 },
	{ "asprof.Losses", 2 },       { "jdk.ActiveRecording", 2 },
	{ "jdk.ActiveSetting", 4 },   { "jdk.OSInformation", 2 },
	{ "jdk.CPUInformation", 2 },  { "jdk.NativeLibrary", 2 },
	{ "jdk.CPULoad", 2 },
};

START_TEST(summary)
{
	struct buf out = BUF_INIT(1 << 20);
	const char *at;
	char name[64];
	size_t i;

	jfr("summary", &out);
	ck_assert_ptr_nonnull(strstr(buf_string(&out), "Chunks: 2"));
	ck_assert_ptr_nonnull(strstr(buf_string(&out), "Start: 2023-11-14 22:13:20"));
	ck_assert_ptr_nonnull(strstr(buf_string(&out), "Duration: 2 s"));
	for (i = 0; i < sizeof(totals) / sizeof(*totals); i++) {
		snprintf(name, sizeof(name), " %s ", totals[i].type);
		at = strstr(buf_string(&out), name);
		ck_assert_msg(at != NULL, "no %s", totals[i].type);
		ck_assert_uint_eq(strtoul(at + strlen(name), NULL, 10), totals[i].count);
	}
	buf_free(&out);
}
END_TEST

/* The output of `jfr print --json` for each kind, and the number of its events. */
static const struct {
	const char *type, *text;
	unsigned count;
} printed[] = {
	{ "jdk.ExecutionSample", "\"javaName\": null", 6 },
	{ "jdk.ExecutionSample", "\"osName\": \"burner\"", 4 },
	{ "jdk.ExecutionSample", "\"osName\": \"[tid=1002]\"", 2 },
	{ "jdk.ExecutionSample", "\"osThreadId\": 1001", 4 },
	{ "jdk.ExecutionSample", "\"state\": \"STATE_DEFAULT\"", 6 },
	{ "jdk.ExecutionSample", "\"name\": \"burn\"", 4 },
	{ "jdk.ExecutionSample", "\"name\": \"relay\"", 2 },
	{ "jdk.ExecutionSample", "\"name\": \"ns::Type<int>::run\"", 4 },
	{ "jdk.ExecutionSample", "\"name\": \"libstdc++.so.6\"", 4 },
	{ "jdk.ExecutionSample", "\"type\": \"C++\"", 4 },
	{ "jdk.ExecutionSample", "\"truncated\": false", 6 },
	/* A third of a microsecond per tick of a thousand, in the first chunk and in the second. */
	{ "jdk.ExecutionSample", "\"startTime\": \"2023-11-14T22:13:20.000000333Z\"", 1 },
	{ "jdk.ExecutionSample", "\"startTime\": \"2023-11-14T22:13:21.000000333Z\"", 1 },
	{ "profiler.WallClockSample", "\"state\": \"STATE_SLEEPING\"", 2 },
	{ "profiler.WallClockSample", "\"samples\": 5", 2 },
	{ "profiler.WallClockSample", "\"timeSpan\": \"PT0.000005S\"", 2 },
	{ "profiler.WallClockSample", "\"wait\": \"state=waiting\\ncause=lock\\non=lock 0x0\\n\"",
	  1 },
	{ "profiler.WallClockSample", "\"wait\": \"state=waiting\\ncause=lock\\non=lock 0x1\\n\"",
	  1 },
	{ "profiler.WallClockSample", "\"ownerDelay\": \"PT0.000042S\"", 2 },
	{ "profiler.WallClockSample", "\"name\": \"burn\"", 2 },
	{ "asprof.ThreadTimes", "\"duration\": \"PT0.000003S\"", 2 },
	{ "asprof.ThreadTimes", "\"blockedTime\": \"PT0.0000007S\"", 2 },
	{ "asprof.ThreadTimes", "\"osName\": \"burner\"", 2 },
	{ "asprof.Throttling", "\"throttledTime\": \"PT0.00000005S\"", 2 },
	{ "profiler.Malloc", "\"size\": 1024", 4 },
	{ "profiler.Malloc", "\"weight\": 524288", 4 },
	{ "profiler.Malloc", "\"name\": \"main\"", 4 },
	{ "profiler.Free", "\"address\": 139715286138880", 1 },
	{ "profiler.Free", "\"stackTrace\": null", 1 },
	{ "profiler.Free", "\"weight\": 524288", 1 },
	{ "profiler.Free", "\"birth\": \"2023-11-14T22:13:20.000001666Z\"", 1 },
	{ "asprof.RetainedHeap", "\"bytes\": 3000", 2 },
	{ "asprof.RetainedHeap", "\"freedBytes\": 2000", 2 },
	{ "asprof.Losses", "\"ringFull\": 22", 2 },
	{ "profiler.UserEvent", "\"tokio.PollcatchV1\"", 2 },
	{ "jdk.ActiveSetting", "\"value\": \"tsc\"", 2 },
	{ "jdk.ActiveSetting", "\"id\": 101", 2 },
	{ "jdk.NativeLibrary", "\"name\": \"\\/usr\\/lib\\/libc.so.6\"", 2 },
	{ "jdk.NativeLibrary", "\"buildId\": \"01fe\"", 2 },
	{ "jdk.CPULoad", "\"jvmUser\": 0.25", 2 },
	{ "jdk.CPULoad", "\"machineTotal\": 0.5", 2 },
	{ "jdk.CPUInformation", "\"hwThreads\": 4", 2 },
};

START_TEST(print_json)
{
	struct buf out = BUF_INIT(4 << 20);
	const char *asked = "";
	char arguments[128];
	size_t i;

	for (i = 0; i < sizeof(printed) / sizeof(*printed); i++) {
		if (strcmp(asked, printed[i].type)) {
			asked = printed[i].type;
			snprintf(arguments, sizeof(arguments), "print --json --events %s", asked);
			jfr(arguments, &out);
		}
		ck_assert_msg(count(buf_string(&out), printed[i].text) == printed[i].count,
			      "%s: %u times %s in %s", asked,
			      count(buf_string(&out), printed[i].text), printed[i].text,
			      buf_string(&out));
	}
	buf_free(&out);
}
END_TEST

/* Everything at once, as text, with the types: the JDK accepts all of it. */
START_TEST(takes_all)
{
	struct buf out = BUF_INIT(4 << 20);

	jfr("print", &out);
	ck_assert_ptr_null(strstr(buf_string(&out), "xception"));
	jfr("metadata", &out);
	ck_assert_ptr_nonnull(strstr(buf_string(&out), "@Name(\"asprof.RetainedHeap\")"));
	ck_assert_ptr_nonnull(strstr(buf_string(&out), "@DataAmount(\"BYTES\")"));
	buf_free(&out);
}
END_TEST

/* Chunks of async-profiler before and after the agent's: each is read by its own types, though the
 * JDK takes those of the chunk before if the metadata has the same number. */
START_TEST(beside_chunks_of_async_profiler)
{
	static const char theirs[] = "test/fixtures/jfr/native.jfr";
	struct buf out = BUF_INIT(32 << 20);
	char command[512], mixed[64];
	unsigned mallocs;

	snprintf(mixed, sizeof(mixed), "%s/mixed.jfr", sample.directory);
	snprintf(command, sizeof(command), "cat %s %s %s >%s", theirs, sample.recording, theirs,
		 mixed);
	ck_assert_int_eq(sample_run(command, &out), 0);

	snprintf(command, sizeof(command), "jfr print --json --events Malloc %s", theirs);
	ck_assert_int_eq(sample_run(command, &out), 0);
	mallocs = count(buf_string(&out), "\"type\": \"profiler.Malloc\"");
	ck_assert_uint_gt(mallocs, 0);

	buf_reset(&out);
	snprintf(command, sizeof(command), "jfr print --json --events Malloc %s", mixed);
	ck_assert_int_eq(sample_run(command, &out), 0);
	ck_assert_uint_eq(count(buf_string(&out), "\"type\": \"profiler.Malloc\""),
			  2 * mallocs + 4);
	ck_assert_uint_eq(count(buf_string(&out), "\"weight\": 524288"), 4);
	unlink(mixed);
	buf_free(&out);
}
END_TEST

/* Each chunk counts time from its own start. */
START_TEST(memory_chunks_have_their_clocks)
{
	static const char *const times[] = {
		"\"startTime\": \"2023-11-14T22:13:20.4999",
		"\"startTime\": \"2023-11-14T22:13:21.4999",
		"\"startTime\": \"2023-11-14T22:13:22.4999",
		"\"birth\": \"2023-11-14T22:13:20.4999",
		"\"birth\": \"2023-11-14T22:13:21.4999",
	};
	struct buf out = BUF_INIT(1 << 20);
	char command[256], memory[64];
	off_t end;
	size_t i;
	int fd;

	snprintf(memory, sizeof(memory), "%s/memory.jfr", sample.directory);
	fd = open(memory, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(sample_write_memory(fd, &end), 0);
	close(fd);
	snprintf(command, sizeof(command), "jfr print --json --events Malloc,Free %s", memory);
	ck_assert_int_eq(sample_run(command, &out), 0);
	for (i = 0; i < sizeof(times) / sizeof(*times); i++)
		ck_assert_msg(count(buf_string(&out), times[i]) > 0, "%s not in %s", times[i],
			      buf_string(&out));
	unlink(memory);
	buf_free(&out);
}
END_TEST

int main(void)
{
	TCase *tcase;
	int failed;

	if (system("command -v jfr >/dev/null 2>&1")) {
		puts("jfr (openjdk-17-jdk-headless) is not installed");
		return 77;
	}
	if (sample_make(&sample)) {
		puts("cannot write the recording");
		return 1;
	}
	tcase = tcase_create("all");
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, summary);
	tcase_add_test(tcase, print_json);
	tcase_add_test(tcase, takes_all);
	tcase_add_test(tcase, memory_chunks_have_their_clocks);
	tcase_add_test(tcase, beside_chunks_of_async_profiler);
	failed = suite_run(tcase);
	sample_remove(&sample);
	return failed;
}
