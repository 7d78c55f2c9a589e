/* The output of async-profiler's converter for the agent's recordings. */

#include "test/fixtures/jfr_sample.h"
#include "test/fixtures/suite.h"

static struct sample sample;
static char converter[4096];

static const char burn[] = "_start;main;ns::Type<int>::run;burn ";
static const char sleeping[] = "_start;relay;clock_nanosleep ";

static const struct {
	const char *arguments;
	unsigned burn, sleeping; /* the number after the stack; 0: it is missing */
} conversions[] = {
	{ "--cpu", 4, 2 },
	{ "--wall", 0, 10 },
	{ "--nativemem --total", 4096, 0 },
	{ "--nativemem", 4, 0 },
	/* One of the four was freed in the first chunk. */
	{ "--nativemem --leak --tail 0 --total", 3072, 0 },
};

static unsigned number_behind(const char *collapsed, const char *stack)
{
	const char *at = strstr(collapsed, stack);

	return at ? (unsigned)strtoul(at + strlen(stack), NULL, 10) : 0;
}

START_TEST(stacks_and_their_weights)
{
	struct buf out = BUF_INIT(1 << 20);
	char command[8192];

	/* Its messages go to the output too, before the stacks. */
	snprintf(command, sizeof(command),
		 "cd %s && '%s' %s -o collapsed %s out && cat out; rm -f out", sample.directory,
		 converter, conversions[_i].arguments, sample.recording);
	ck_assert_int_eq(sample_run(command, &out), 0);
	ck_assert_uint_eq(number_behind(buf_string(&out), burn), conversions[_i].burn);
	ck_assert_uint_eq(number_behind(buf_string(&out), sleeping), conversions[_i].sleeping);
	buf_free(&out);
}
END_TEST

/* It is in the same tree as the library. */
static bool find_converter(void)
{
	const char *library = getenv("ASPROF_TEST_LIB");
	const char *slash = library ? strrchr(library, '/') : NULL;

	if (!slash)
		return false;
	snprintf(converter, sizeof(converter), "%.*s/../bin/jfrconv", (int)(slash - library),
		 library);
	return !access(converter, X_OK);
}

int main(void)
{
	TCase *tcase;
	int failed;

	if (!find_converter()) {
		puts("ASPROF_TEST_LIB names no library with ../bin/jfrconv");
		return 77;
	}
	if (sample_make(&sample)) {
		puts("cannot write the recording");
		return 1;
	}
	tcase = tcase_create("all");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, stacks_and_their_weights, 0,
			    sizeof(conversions) / sizeof(*conversions));
	failed = suite_run(tcase);
	sample_remove(&sample);
	return failed;
}
