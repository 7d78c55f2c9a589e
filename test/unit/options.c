/* The table of options, their values, and the messages for invalid values. */
#include "core/executable.h"
#include "core/options/admit.h"
#include "core/options/config.h"
#include "core/options/option_view.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/options/option_value.h"
#include "test/fixtures/suite.h"

#define CASES(table) (sizeof(table) / sizeof(*(table)))

static int read_one(struct config *config, const char *entry, char *problem)
{
	char *const environment[] = { (char *)"PATH=/bin", (char *)entry, NULL };

	return config_read(config, environment, problem);
}

static const struct {
	const char *entry;
	size_t offset;
	uint64_t expected;
} numbers[] = {
	{ "X=", offsetof(struct config, reporting_interval_ns), 30000000000 },
	{ "X=", offsetof(struct config, cpu_interval_ns), 100000000 },
	{ "X=", offsetof(struct config, wall_interval_ns), 1000000000 },
	{ "X=", offsetof(struct config, native_mem_bytes), OPTION_OFF },
	{ "X=", offsetof(struct config, native_mem_limit_bytes), OPTION_OFF },
	{ "X=", offsetof(struct config, native_mem_growth_permil), OPTION_OFF },
	{ "X=", offsetof(struct config, budget_permil), 10 },
	{ "X=", offsetof(struct config, lock_ns), OPTION_OFF },
	{ "X=", offsetof(struct config, local_max_bytes), 1 << 30 },
	{ "X=", offsetof(struct config, local_max_age_ns), OPTION_OFF },
	{ "X=", offsetof(struct config, start_delay_ns), 100000000 },
	{ "X=", offsetof(struct config, spool_max_bytes), 256 << 20 },
	{ "X=", offsetof(struct config, exit_timeout_ns), 2000000000 },
	{ "X=", offsetof(struct config, stalls_ns), OPTION_OFF },
	{ "CPU_INTERVAL=250us", offsetof(struct config, cpu_interval_ns), 250000 },
	{ "CPU_INTERVAL=10ms", offsetof(struct config, cpu_interval_ns), 10000000 },
	{ "CPU_INTERVAL=2s", offsetof(struct config, cpu_interval_ns), 2000000000 },
	{ "CPU_INTERVAL=3m", offsetof(struct config, cpu_interval_ns), 180000000000 },
	{ "CPU_INTERVAL=1h", offsetof(struct config, cpu_interval_ns), 3600000000000 },
	{ "CPU_INTERVAL=007ms", offsetof(struct config, cpu_interval_ns), 7000000 },
	{ "CPU_INTERVAL=off", offsetof(struct config, cpu_interval_ns), OPTION_OFF },
	{ "CPU_INTERVAL=0", offsetof(struct config, cpu_interval_ns), OPTION_OFF },
	{ "CPU_INTERVAL=0ms", offsetof(struct config, cpu_interval_ns), OPTION_OFF },
	{ "CPU_INTERVAL=", offsetof(struct config, cpu_interval_ns), 100000000 },
	{ "REPORTING_INTERVAL=off", offsetof(struct config, reporting_interval_ns),
	  36500ull * 86400 * 1000000000 },
	{ "NATIVE_MEM=0", offsetof(struct config, native_mem_bytes), 0 },
	{ "NATIVE_MEM=5000000", offsetof(struct config, native_mem_bytes), 5000000 },
	{ "NATIVE_MEM=512k", offsetof(struct config, native_mem_bytes), 524288 },
	{ "NATIVE_MEM=10m", offsetof(struct config, native_mem_bytes), 10485760 },
	{ "NATIVE_MEM=2g", offsetof(struct config, native_mem_bytes), 2147483648 },
	{ "BUDGET=5%", offsetof(struct config, budget_permil), 50 },
	{ "BUDGET=off", offsetof(struct config, budget_permil), OPTION_OFF },
	{ "NATIVE_MEM_GROWTH=10%", offsetof(struct config, native_mem_growth_permil), 100 },
	{ "LOCK=10ms", offsetof(struct config, lock_ns), 10000000 },
	{ "LOCK=0", offsetof(struct config, lock_ns), OPTION_OFF },
	{ "LOCAL_MAX_BYTES=0", offsetof(struct config, local_max_bytes), 0 },
	{ "LOCAL_MAX_BYTES=off", offsetof(struct config, local_max_bytes), 0 },
	{ "LOCAL_MAX_AGE=0", offsetof(struct config, local_max_age_ns), OPTION_OFF },
	{ "LOCAL_MAX_AGE=48h", offsetof(struct config, local_max_age_ns), 172800000000000 },
	{ "START_DELAY=0", offsetof(struct config, start_delay_ns), 0 },
	{ "START_DELAY=off", offsetof(struct config, start_delay_ns), 0 },
	{ "MEMORY=off", offsetof(struct config, memory_bytes), 0 },
	{ "MEMORY=2m", offsetof(struct config, memory_bytes), 2 << 20 },
	{ "X=", offsetof(struct config, memory_bytes), 16 << 20 },
	{ "SPOOL_MAX_BYTES=off", offsetof(struct config, spool_max_bytes), OPTION_OFF },
	{ "EXIT_TIMEOUT=off", offsetof(struct config, exit_timeout_ns), 0 },
	{ "STALLS=on", offsetof(struct config, stalls_ns), 10000000 },
	{ "STALLS=25ms", offsetof(struct config, stalls_ns), 25000000 },
};

START_TEST(numbers_are_read)
{
	char entry[128], problem[OPTION_PROBLEM_MAX];
	struct config config;
	uint64_t got;

	snprintf(entry, sizeof(entry), "%s%s", *numbers[_i].entry == 'X' ? "" : OPTION_PREFIX,
		 numbers[_i].entry);
	ck_assert_msg(!read_one(&config, entry, problem), "%s", problem);
	memcpy(&got, (char *)&config + numbers[_i].offset, sizeof(got));
	ck_assert_msg(got == numbers[_i].expected, "%s gave %llu", entry, (unsigned long long)got);
	config_free(&config);
}
END_TEST

static const struct {
	const char *entry;
	size_t offset;
	const char *expected; /* NULL: unset */
} texts[] = {
	{ "X=", offsetof(struct config, lib), "libasyncProfiler.so" },
	{ "X=", offsetof(struct config, cstack), "dwarf" },
	{ "X=", offsetof(struct config, engine_options), NULL },
	{ "X=", offsetof(struct config, tags), NULL },
	{ "X=", offsetof(struct config, local_dir), NULL },
	{ "X=", offsetof(struct config, s3_bucket), NULL },
	{ "X=", offsetof(struct config, s3_proxy), NULL },
	{ "X=", offsetof(struct config, metadata), "auto" },
	{ "X=", offsetof(struct config, process), "*" },
	{ "X=", offsetof(struct config, spool_dir), NULL },
	{ "X=", offsetof(struct config, listen), "auto" },
	{ "X=", offsetof(struct config, log_file), NULL },
	{ "LIB=/opt/ap/libasyncProfiler.so", offsetof(struct config, lib),
	  "/opt/ap/libasyncProfiler.so" },
	{ "LIB=libap.so.4", offsetof(struct config, lib), "libap.so.4" },
	{ "CSTACK=vmx", offsetof(struct config, cstack), "vmx" },
	{ "PROFILING_GROUP=shop front", offsetof(struct config, profiling_group), "shop front" },
	{ "PROFILING_GROUP=a..b/...", offsetof(struct config, profiling_group), "a..b/..." },
	{ "S3_PREFIX=/.a//..b/", offsetof(struct config, s3_prefix), "/.a//..b/" },
	{ "TAGS=a=1", offsetof(struct config, tags), "a=1" },
	{ "TAGS=a=1,b=,c=x=y", offsetof(struct config, tags), "a=1,b=,c=x=y" },
	{ "LOCAL_DIR=/srv/p q", offsetof(struct config, local_dir), "/srv/p q" },
	{ "LOCAL_DIR=", offsetof(struct config, local_dir), NULL },
	{ "S3_ENDPOINT=https://[::1]:9000", offsetof(struct config, s3_endpoint),
	  "https://[::1]:9000" },
	{ "PYROSCOPE_URL=http://p:4040/x", offsetof(struct config, pyroscope_url),
	  "http://p:4040/x" },
	{ "PYROSCOPE_HEADERS=A-b=c d,E=f=", offsetof(struct config, pyroscope_headers),
	  "A-b=c d,E=f=" },
	{ "OTLP_ENDPOINT=https://c:4318", offsetof(struct config, otlp_endpoint),
	  "https://c:4318" },
	{ "OTLP_HEADERS=a=%20, b=", offsetof(struct config, otlp_headers), "a=%20, b=" },
	{ "S3_PROXY=off", offsetof(struct config, s3_proxy), NULL },
	{ "S3_PROXY=http://proxy:3128", offsetof(struct config, s3_proxy), "http://proxy:3128" },
	{ "METADATA=file:/etc/host.json", offsetof(struct config, metadata),
	  "file:/etc/host.json" },
	{ "LISTEN=off", offsetof(struct config, listen), NULL },
	{ "LISTEN=auto", offsetof(struct config, listen), "auto" },
	{ "LISTEN=unix:/run/a.sock", offsetof(struct config, listen), "unix:/run/a.sock" },
	{ "LISTEN=127.0.0.1:7070", offsetof(struct config, listen), "127.0.0.1:7070" },
	{ "LISTEN=localhost:7070", offsetof(struct config, listen), "localhost:7070" },
	{ "LISTEN=[::1]:7070", offsetof(struct config, listen), "[::1]:7070" },
	{ "LOG_FILE=stderr", offsetof(struct config, log_file), NULL },
	{ "LOG_FILE=/var/log/a.log", offsetof(struct config, log_file), "/var/log/a.log" },
};

START_TEST(texts_are_read)
{
	char entry[128], problem[OPTION_PROBLEM_MAX];
	struct config config;
	const char *got;

	snprintf(entry, sizeof(entry), "%s%s", *texts[_i].entry == 'X' ? "" : OPTION_PREFIX,
		 texts[_i].entry);
	ck_assert_msg(!read_one(&config, entry, problem), "%s", problem);
	/* The program may overwrite its environment after that. */
	memset(entry, '#', sizeof(entry));
	memcpy(&got, (char *)&config + texts[_i].offset, sizeof(got));
	if (texts[_i].expected)
		ck_assert_str_eq(got, texts[_i].expected);
	else
		ck_assert_ptr_null(got);
	config_free(&config);
}
END_TEST

/* More than there is space for in the config itself. */
START_TEST(long_texts_are_read)
{
	char entry[1000] = OPTION_PREFIX "S3_PREFIX=", problem[OPTION_PROBLEM_MAX], expected[900];
	struct config config;

	memset(expected, 'p', sizeof(expected) - 1);
	expected[sizeof(expected) - 1] = '\0';
	memcpy(entry + strlen(entry), expected, sizeof(expected));
	ck_assert_msg(!read_one(&config, entry, problem), "%s", problem);
	memset(entry, '#', sizeof(entry));
	ck_assert_str_eq(config.s3_prefix, expected);
	config_free(&config);
}
END_TEST

START_TEST(words_and_switches_are_read)
{
	char *const environment[] = { (char *)"ASPROF_AGENT_ENGINE=builtin",
				      (char *)"ASPROF_AGENT_NATIVE_MEM_ENGINE=engine",
				      (char *)"ASPROF_AGENT_SANDBOX=leave",
				      (char *)"ASPROF_AGENT_LOG=debug",
				      (char *)"ASPROF_AGENT_CHILDREN=off",
				      (char *)"ASPROF_AGENT_LOCAL_MAX_BYTES=1g",
				      NULL };
	static const struct {
		const char *entry;
		uint64_t bytes;
	} in_memory[] = {
		{ "ASPROF_AGENT_SPOOL_MAX_BYTES=1m", 1 << 20 },
		{ "ASPROF_AGENT_SPOOL_MAX_BYTES=256m", 256 << 20 },
		{ "ASPROF_AGENT_SPOOL_MAX_BYTES=off", OPTION_OFF },
	};
	char problem[OPTION_PROBLEM_MAX];
	struct config config;

	ck_assert_int_eq(config_read(&config, environment + 6, problem), 0);
	ck_assert_int_eq(config.enabled, true);
	ck_assert_int_eq(config.engine, ENGINE_AUTO);
	ck_assert_int_eq(config.native_mem_engine, MEM_ENGINE_AUTO);
	ck_assert_int_eq(config.log, LOG_WARN);
	ck_assert_int_eq(config.children, true);
	ck_assert_int_eq(config.fork, true);
	ck_assert_int_eq(config.local_max_bytes_set, false);
	/* Without a spool they are in the program's memory, which has a lower limit by default. */
	ck_assert_uint_eq(config.spool_max_bytes, 256 << 20);
	ck_assert_uint_eq(config_memory_max_bytes(&config), 32 << 20);
	config_free(&config);
	for (size_t i = 0; i < sizeof(in_memory) / sizeof(in_memory[0]); i++) {
		char *const one[] = { (char *)in_memory[i].entry, NULL };

		ck_assert_int_eq(config_read(&config, one, problem), 0);
		ck_assert_uint_eq(config.spool_max_bytes, in_memory[i].bytes);
		ck_assert_uint_eq(config_memory_max_bytes(&config), in_memory[i].bytes);
		config_free(&config);
	}

	ck_assert_int_eq(config_read(&config, environment, problem), 0);
	ck_assert_int_eq(config.engine, ENGINE_BUILTIN);
	ck_assert_int_eq(config.native_mem_engine, MEM_ENGINE_ENGINE);
	ck_assert_int_eq(config.log, LOG_DEBUG);
	ck_assert_int_eq(config.children, false);
	ck_assert_int_eq(config.fork, true);
	ck_assert_int_eq(config.local_max_bytes_set, true);
	config_free(&config);
}
END_TEST

/* Each is refused with the line after it. */
static const struct {
	const char *entry, *problem;
} wrong[] = {
	{ "CPU_INTERVAL=10 parsecs",
	  "ASPROF_AGENT_CPU_INTERVAL=10 parsecs is not accepted: give a duration such as 10ms "
	  "(100us to 1h), 0 or off" },
	{ "ENGINE=java",
	  "ASPROF_AGENT_ENGINE=java is not accepted: give auto, async-profiler or builtin" },
	{ "ENABLED=maybe", "ASPROF_AGENT_ENABLED=maybe is not accepted: give on or off" },
	{ "NATIVE_MEM=many", "ASPROF_AGENT_NATIVE_MEM=many is not accepted: give a size such as "
			     "512k (0 to 1024g) or off" },
	{ "STALLS=yes", "ASPROF_AGENT_STALLS=yes is not accepted: give a duration such as 10ms "
			"(100us to 1h), 0, on or off" },
	{ "LISTEN_TOKEN=geheim nis",
	  "ASPROF_AGENT_LISTEN_TOKEN=(not shown) is not accepted: give text without spaces" },
	{ "LOG_FILE=a\nb", "ASPROF_AGENT_LOG_FILE=a?b is not accepted: give a file's path, or "
			   "stderr; never stdout" },
	{ "LOG="
	  "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234"
	  "567890123456789",
	  "ASPROF_AGENT_LOG=01234567890123456789012345678901234567890123456789012345678901234567890"
	  "12345678901234567890123456789 is not accepted: give off, error, warn, info or debug" },
	{ "LOG="
	  "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234"
	  "5678901234567890",
	  "ASPROF_AGENT_LOG=01234567890123456789012345678901234567890123456789012345678901234567890"
	  "12345678901234567890123456789... is not accepted: give off, error, warn, info or "
	  "debug" },
	{ "CPU_INTERVAL=10", NULL },
	{ "CPU_INTERVAL=ms", NULL },
	{ "CPU_INTERVAL=-10ms", NULL },
	{ "CPU_INTERVAL=+10ms", NULL },
	{ "CPU_INTERVAL= 10ms", NULL },
	{ "CPU_INTERVAL=10ms ", NULL },
	{ "CPU_INTERVAL=10 ms", NULL },
	{ "CPU_INTERVAL=1.5s", NULL },
	{ "CPU_INTERVAL=10MS", NULL },
	{ "CPU_INTERVAL=10k", NULL },
	{ "CPU_INTERVAL=10mss", NULL },
	{ "CPU_INTERVAL=0x10ms", NULL },
	{ "CPU_INTERVAL=OFF", NULL },
	{ "CPU_INTERVAL=on", NULL },
	{ "CPU_INTERVAL=1us", NULL },
	{ "CPU_INTERVAL=61m", NULL },
	{ "CPU_INTERVAL=18446744073709551616us", NULL },
	{ "CPU_INTERVAL=18446744073709552ms", NULL }, /* 448 us more than 2^64 ns */
	{ "CPU_INTERVAL=99999999999999999999999999h", NULL },
	{ "REPORTING_INTERVAL=0", NULL },
	{ "REPORTING_INTERVAL=999ms", NULL },
	{ "REPORTING_INTERVAL=25h", NULL },
	{ "NATIVE_MEM=512kb", NULL },
	{ "NATIVE_MEM=10ms", NULL },
	{ "NATIVE_MEM=17179869184g", NULL }, /* 2^64 */
	{ "NATIVE_MEM=-1", NULL },
	{ "NATIVE_MEM=18446744073709551615", NULL }, /* the internal value of off */
	{ "NATIVE_MEM_LIMIT=0", NULL },
	{ "BUDGET=1", NULL },
	{ "BUDGET=0%", NULL },
	{ "BUDGET=101%", NULL },
	{ "NATIVE_MEM_GROWTH=10", NULL },
	{ "NATIVE_MEM_GROWTH=0%", NULL },
	{ "LOCAL_MAX_BYTES=1", NULL },
	{ "CHILDREN=no", NULL },
	{ "CHILDREN=1", NULL },
	{ "CSTACK=dwarf2", NULL },
	{ "FRAMES=python", NULL },
	{ "LIB=./libasyncProfiler.so", NULL },
	{ "LIB=lib/libasyncProfiler.so", NULL },
	{ "TAGS=a", NULL },
	{ "TAGS==1", NULL },
	{ "TAGS=a=1,", NULL },
	{ "TAGS=a=1,,b=2", NULL },
	{ "TAGS=a=1,b", NULL },
	{ "PROFILING_GROUP=a\tb", NULL },
	{ "PROFILING_GROUP=..", "ASPROF_AGENT_PROFILING_GROUP=.. is not accepted: give a name "
				"without a path segment . or .." },
	{ "PROFILING_GROUP=.", NULL },
	{ "PROFILING_GROUP=a/../b", NULL },
	{ "PROFILING_GROUP=/..", NULL },
	{ "S3_PREFIX=../other-bucket/", "ASPROF_AGENT_S3_PREFIX=../other-bucket/ is not accepted: "
					"give text without a path segment . or .." },
	{ "S3_PREFIX=a/./b/", NULL },
	{ "S3_PREFIX=a/..", NULL },
	{ "S3_PREFIX=a\x7f/", NULL },
	{ "S3_BUCKET=my bucket", NULL },
	{ "PYROSCOPE_URL=p:4040", NULL },
	{ "PYROSCOPE_HEADERS=a", NULL },
	{ "PYROSCOPE_HEADERS=a b=c", NULL },
	{ "OTLP_ENDPOINT=grpc://c", NULL },
	{ "OTLP_HEADERS=a=1,", NULL },
	{ "OTLP_HEADERS==1", NULL },
	{ "S3_ENDPOINT=store:9000", NULL },
	{ "S3_ENDPOINT=https://", NULL },
	{ "S3_ENDPOINT=ftp://store", NULL },
	{ "S3_PROXY=on", NULL },
	{ "S3_PROXY=socks5://user:word@proxy:1080/?word",
	  "ASPROF_AGENT_S3_PROXY=socks5://proxy:1080/ is not accepted: give a URL that begins with "
	  "http:// or https://, or off" },
	{ "METADATA=ec2", NULL },
	{ "METADATA=file:", NULL },
	{ "SANDBOX=quit", NULL },
	{ "SANDBOX=stay", "ASPROF_AGENT_SANDBOX=stay is not accepted: give leave" },
	{ "LISTEN=7070", NULL },
	{ "LISTEN=:7070", NULL },
	{ "LISTEN=unix:", NULL },
	{ "LISTEN=unix:relative.sock", NULL },
	{ "LISTEN=127.0.0.1", NULL },
	{ "LISTEN=127.0.0.1:", NULL },
	{ "LISTEN=127.0.0.1:0", NULL },
	{ "LISTEN=127.0.0.1:65536", NULL },
	{ "LISTEN=127.0.0.1:99999999999999999999", NULL },
	{ "LISTEN=127.0.0.1:80x", NULL },
	{ "LISTEN=::1:7070", NULL },
	{ "LISTEN=example.org:7070", NULL },
	{ "LISTEN=0.0.0.0:7070", NULL }, /* not loopback, and no token */
	{ "LISTEN=[::]:7070", NULL },
	{ "LISTEN=128.0.0.1:7070", NULL },
	{ "LOG=warning", NULL },
	{ "LOG_FILE=/dev/stdout", NULL },
	{ "LOG_FILE=-", NULL },
};

START_TEST(wrong_values_are_refused)
{
	char entry[256], problem[OPTION_PROBLEM_MAX], name[64];
	const char *equals = strchr(wrong[_i].entry, '=');
	struct config config;

	snprintf(entry, sizeof(entry), "%s%s", OPTION_PREFIX, wrong[_i].entry);
	ck_assert_msg(read_one(&config, entry, problem) == -EINVAL, "%s was accepted", entry);
	if (wrong[_i].problem)
		ck_assert_str_eq(problem, wrong[_i].problem);
	snprintf(name, sizeof(name), "%s%.*s=", OPTION_PREFIX, (int)(equals - wrong[_i].entry),
		 wrong[_i].entry);
	ck_assert_ptr_nonnull(strstr(problem, name));
	ck_assert_ptr_null(strchr(problem, '\n'));
}
END_TEST

START_TEST(a_tag_has_a_length)
{
	static const char name[] = "ASPROF_AGENT_TAGS=a=b,";
	char entry[sizeof(name) + 4097] = "", problem[OPTION_PROBLEM_MAX];
	struct config config;

	memcpy(entry, name, sizeof(name) - 1);
	memset(entry + sizeof(name) - 1, '=', 4096);
	entry[sizeof(name) - 1] = 'k';
	ck_assert_int_eq(read_one(&config, entry, problem), 0);
	config_free(&config);
	entry[sizeof(name) - 1 + 4096] = '=';
	ck_assert_int_eq(read_one(&config, entry, problem), -EINVAL);
	ck_assert_ptr_nonnull(strstr(problem, "at most 4096 bytes"));
}
END_TEST

START_TEST(a_token_lets_it_listen_anywhere)
{
	char *const environment[] = { (char *)"ASPROF_AGENT_LISTEN=0.0.0.0:7070",
				      (char *)"ASPROF_AGENT_LISTEN_TOKEN=s3cret", NULL };
	char problem[OPTION_PROBLEM_MAX];
	struct config config;

	ck_assert_int_eq(config_read(&config, environment, problem), 0);
	ck_assert_str_eq(config.listen, "0.0.0.0:7070");
	ck_assert_str_eq(config.listen_token, "s3cret");
	config_free(&config);
}
END_TEST

START_TEST(disabled_reads_nothing_else)
{
	char *const environment[] = { (char *)"ASPROF_AGENT_CPU_INTERVAL=10 parsecs",
				      (char *)"ASPROF_AGENT_ENABLED=off", NULL };
	char problem[OPTION_PROBLEM_MAX];
	struct config config;

	ck_assert_int_eq(config_read(&config, environment, problem), 0);
	ck_assert_int_eq(config.enabled, false);
	ck_assert_uint_eq(config.cpu_interval_ns, 0);
	ck_assert_ptr_null(config.mapped);
	config_free(&config);
}
END_TEST

START_TEST(the_first_of_two_counts)
{
	char *const environment[] = { (char *)"ASPROF_AGENT_CPU_INTERVAL=1s",
				      (char *)"ASPROF_AGENT_CPU_INTERVAL=2s", NULL };
	char problem[OPTION_PROBLEM_MAX];
	struct config config;

	ck_assert_int_eq(config_read(&config, environment, problem), 0);
	ck_assert_uint_eq(config.cpu_interval_ns, 1000000000);
	config_free(&config);
}
END_TEST

START_TEST(the_group_is_the_executable)
{
	char problem[OPTION_PROBLEM_MAX];
	struct config config;

	ck_assert_int_eq(read_one(&config, "X=", problem), 0);
	ck_assert_str_eq(config.profiling_group, "options"); /* this test's own name */
	config_free(&config);
}
END_TEST

/* Every default is a valid value of its option, and all rows have different names. */
START_TEST(the_table_holds_together)
{
	char problem[OPTION_PROBLEM_MAX];
	struct option_view row, other;
	size_t count = 0;

	for (; option_row(count, &row); count++) {
		ck_assert_int_eq(strncmp(row.name, OPTION_PREFIX, strlen(OPTION_PREFIX)), 0);
		ck_assert_uint_lt(strlen(row.name), OPTION_NAME_MAX - 1);
		ck_assert_uint_lt(strlen(row.accepts), OPTION_EXPECTS_MAX - 1);
		ck_assert_ptr_nonnull(strchr(row.help, '.'));
		if (*row.fallback)
			ck_assert_msg(!option_check(row.name, row.fallback, problem), "%s",
				      problem);
		for (size_t j = 0; j < count; j++) {
			ck_assert(option_row(j, &other));
			ck_assert_str_ne(row.name, other.name);
		}
	}
	ck_assert_uint_eq(count, 47);
}
END_TEST

START_TEST(one_value_is_checked)
{
	char problem[OPTION_PROBLEM_MAX];

	ck_assert_int_eq(option_check("CPU_INTERVAL", "10ms", problem), 0);
	ck_assert_int_eq(option_check("ASPROF_AGENT_CPU_INTERVAL", "10ms", problem), 0);
	ck_assert_int_eq(option_check("CPU_INTERVAL", "10", problem), -EINVAL);
	ck_assert_ptr_nonnull(strstr(problem, "ASPROF_AGENT_CPU_INTERVAL=10 "));
	ck_assert_int_eq(option_check("CPU_INTERVALS", "10ms", problem), -EINVAL);
}
END_TEST

static const struct {
	const char *globs, *executable;
	bool admitted;
} admissions[] = {
	{ "*", "anything", true },
	{ "redis-server", "redis-server", true },
	{ "redis-server", "redis-cli", false },
	{ "redis-*,node", "node", true },
	{ "redis-*,node", "nodejs", false },
	{ "!redis-cli,redis-*", "redis-cli", false },
	{ "!redis-cli,redis-*", "redis-server", true },
	{ "redis-*,!redis-cli", "redis-cli", true }, /* the first match wins */
	{ "!bash", "bash", false },
	{ "!bash,!sh", "node", true },
	{ "!bash,node", "perl", false },
	{ "*,!bash", "bash", true },
	{ "!bash,*", "perl", true },
	{ "python3.?", "python3.9", true },
	{ "[a-c]*", "bash", true },
	{ ",,", "bash", true },
	{ ",node,", "bash", false },
	{ "!", "bash", true },
};

START_TEST(globs_decide)
{
	struct config config = { .process = admissions[_i].globs };

	ck_assert_int_eq(config_admits(&config, admissions[_i].executable),
			 admissions[_i].admitted);
}
END_TEST

static int begins(const char *entry, bool is_secure)
{
	char *const environment[] = { (char *)entry, NULL };
	struct config config = { 0 };
	int err = config_begin(&config, environment, is_secure);

	config_free(&config);
	return err;
}

START_TEST(a_process_may_have_no_agent)
{
	ck_assert_int_eq(begins("ASPROF_AGENT_PROCESS=opt*", false), 0);
	ck_assert_int_eq(begins("ASPROF_AGENT_PROCESS=opt*", true), -EPERM);
	ck_assert_int_eq(begins("ASPROF_AGENT_PROCESS=bash", false), -EPERM);
	ck_assert_int_eq(begins("ASPROF_AGENT_ENABLED=off", false), -EPERM);
}
END_TEST

START_TEST(the_name_of_the_executable_is_cut)
{
	char name[4];

	executable_name(name, sizeof(name));
	ck_assert_str_eq(name, "opt");
}
END_TEST

/* The output of config_warn for ENTRY, in a file that stays open as the log. */
static void warned(const char *entry, char *line, size_t size)
{
	char *const environment[] = { (char *)"PATH=/bin", (char *)entry, NULL };
	char path[] = "/tmp/asprof-options-XXXXXX";
	int fd = mkstemp(path);
	ssize_t n;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(log_open(LOG_WARN, path), 0);
	config_warn(environment);
	n = read(fd, line, size - 1);
	ck_assert_int_ge(n, 0);
	line[n] = '\0';
	close(fd);
	unlink(path);
}

static const struct {
	const char *entry, *words; /* NULL: no line */
} warnings[] = {
	{ "ASPROF_AGENT_CPU_INTERVAL=10ms", NULL },
	{ "ASPROF_AGENTS=1", NULL },
	{ "ASPROF_AGENT_CPU_INTERVALL=10ms",
	  "ASPROF_AGENT_CPU_INTERVALL is not known and is ignored; the nearest name is "
	  "ASPROF_AGENT_CPU_INTERVAL\n" },
	{ "ASPROF_AGENT_CPU=10ms", "the nearest name is ASPROF_AGENT_CPU_INTERVAL\n" },
	{ "ASPROF_AGENT_LOG_LEVEL=info", "the nearest name is ASPROF_AGENT_LOG\n" },
	{ "ASPROF_AGENT_FOO=1", "ASPROF_AGENT_FOO is not known and is ignored\n" },
	{ "ASPROF_AGENT_WAL_INTERVAL", "the nearest name is ASPROF_AGENT_WALL_INTERVAL\n" },
	{ "ASPROF_AGENT_S3BUCKET=", "the nearest name is ASPROF_AGENT_S3_BUCKET\n" },
	{ "ASPROF_AGENT_=", "ASPROF_AGENT_ is not known and is ignored\n" },
	{ "ASPROF_AGENT_AN_UNREASONABLY_LONG_NAME_THAT_GOES_ON_AND_ON_AND_ON=1",
	  "ASPROF_AGENT_AN_UNREASONABLY_LONG_NAME_THAT_GO" },
	{ "ASPROF_AGENT_SANDBOX=leave", NULL }, /* the default */
	{ "ASPROF_AGENT_SANDBOX=", NULL },
};

START_TEST(names_that_are_nearly_right_are_told)
{
	char line[1024];

	warned(warnings[_i].entry, line, sizeof(line));
	if (warnings[_i].words)
		ck_assert_msg(strstr(line, warnings[_i].words), "%s", line);
	else
		ck_assert_str_eq(line, "");
}
END_TEST

/* Options that are not built report that, and no others do. */
START_TEST(what_is_not_built_is_told)
{
	char entry[128], line[1024];
	struct option_view row;

	for (size_t i = 0; option_row(i, &row); i++) {
		snprintf(entry, sizeof(entry), "%s=else", row.name);
		warned(entry, line, sizeof(line));
		if (row.built)
			ck_assert_str_eq(line, "");
		else
			ck_assert_ptr_nonnull(strstr(line, "this version cannot do it yet"));
	}
}
END_TEST

START_TEST(a_row_is_found_by_its_whole_name)
{
	struct option_view row;

	ck_assert(option_find("ASPROF_AGENT_LOG", &row));
	ck_assert_str_eq(row.name, "ASPROF_AGENT_LOG");
	ck_assert_str_eq(row.fallback, "warn");
	ck_assert(option_find("LOG_FILE", &row));
	ck_assert_str_eq(row.name, "ASPROF_AGENT_LOG_FILE");
	ck_assert(!option_find("ASPROF_AGENT_LO", &row));
	ck_assert(!option_find("ASPROF_AGENT_", &row));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("options");

	tcase_add_loop_test(tcase, numbers_are_read, 0, CASES(numbers));
	tcase_add_loop_test(tcase, texts_are_read, 0, CASES(texts));
	tcase_add_test(tcase, long_texts_are_read);
	tcase_add_test(tcase, words_and_switches_are_read);
	tcase_add_loop_test(tcase, wrong_values_are_refused, 0, CASES(wrong));
	tcase_add_test(tcase, a_tag_has_a_length);
	tcase_add_test(tcase, a_token_lets_it_listen_anywhere);
	tcase_add_test(tcase, disabled_reads_nothing_else);
	tcase_add_test(tcase, the_first_of_two_counts);
	tcase_add_test(tcase, the_group_is_the_executable);
	tcase_add_test(tcase, the_table_holds_together);
	tcase_add_test(tcase, one_value_is_checked);
	tcase_add_loop_test(tcase, globs_decide, 0, CASES(admissions));
	tcase_add_test(tcase, a_process_may_have_no_agent);
	tcase_add_test(tcase, the_name_of_the_executable_is_cut);
	tcase_add_loop_test(tcase, names_that_are_nearly_right_are_told, 0, CASES(warnings));
	tcase_add_test(tcase, what_is_not_built_is_told);
	tcase_add_test(tcase, a_row_is_found_by_its_whole_name);
	return suite_run(tcase);
}
