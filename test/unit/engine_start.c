/* core/agent/engine_start.c: the parameters of an engine's start, from the config and from the
 * user's options for engines. */
#include "core/agent/engine_start.h"

#include <errno.h>

#include "test/fixtures/suite.h"

#define VARIABLES 8

static const struct {
	const char *set[VARIABLES];
	bool mem;
	struct sampling expected;
} samplings[] = {
	{ { NULL }, true, { 100000000, 1000000000, 0 } },
	{ { "ASPROF_AGENT_CPU_INTERVAL=250us", "ASPROF_AGENT_NATIVE_MEM=512k" },
	  true,
	  { 250000, 1000000000, 512 << 10 } },
	{ { "ASPROF_AGENT_NATIVE_MEM=512k" }, false, { 100000000, 1000000000, 0 } },
	{ { "ASPROF_AGENT_WALL_INTERVAL=off" }, true, { 100000000, 0, 0 } },
	{ { "ASPROF_AGENT_CPU_INTERVAL=off" }, true, { 1000000000, 0, 0 } },
	{ { "ASPROF_AGENT_ENGINE_OPTIONS=interval=5ms,wall=20MS,nativemem=1M" },
	  true,
	  { 5000000, 20000000, 1 << 20 } },
	{ { "ASPROF_AGENT_ENGINE_OPTIONS=lock,interval=7us,wall=3,nativemem=0x10k,interval=2s" },
	  true,
	  { 2000000000, 3, 16 << 10 } },
	{ { "ASPROF_AGENT_ENGINE_OPTIONS=event=cache-misses,interval=2k,xinterval=9" },
	  true,
	  { 2048, 1000000000, 0 } },
	{ { "ASPROF_AGENT_ENGINE_OPTIONS=interval=-1,wall=1x,nativemem=99999999999999999999" },
	  true,
	  { 0, 0, 0 } },
};

START_TEST(sampling_is_what_the_start_asks_for)
{
	const struct sampling *expected = &samplings[_i].expected;
	char problem[OPTION_PROBLEM_MAX];
	struct sampling sampling;
	struct config config;
	int err;

	err = config_read(&config, (char *const *)samplings[_i].set, problem);
	ck_assert_msg(!err, "%s", problem);
	sampling = engine_start_sampling(engine_start_of(&config, samplings[_i].mem));
	ck_assert_uint_eq(sampling.interval_ns, expected->interval_ns);
	ck_assert_uint_eq(sampling.wall_ns, expected->wall_ns);
	ck_assert_uint_eq(sampling.mem_bytes, expected->mem_bytes);
	config_free(&config);
}
END_TEST

#define INTERVAL offsetof(struct engine_start, interval_ns)
#define WALL     offsetof(struct engine_start, wall_ns)
#define MEM      offsetof(struct engine_start, mem_bytes)

static const struct {
	const char *option;
	size_t offset;
	uint64_t value; /* ENGINE_OFF: it is not understood */
} quantities[] = {
	{ "interval=10000", INTERVAL, 10000 },
	{ "interval=10000ns,wall=3", INTERVAL, 10000 },
	{ "interval=10us", INTERVAL, 10000 },
	{ "interval=5m", INTERVAL, 5000000 },
	{ "interval=5MS", INTERVAL, 5000000 },
	{ "interval=0x10k", INTERVAL, 16384 },
	{ "interval=9223372036s", INTERVAL, 9223372036000000000u },
	{ "interval=9223372037s", INTERVAL, ENGINE_OFF },
	{ "interval=18446744073709551615", INTERVAL, ENGINE_OFF },
	{ "interval=0", INTERVAL, 0 },
	{ "interval=-5", INTERVAL, ENGINE_OFF },
	{ "interval=+5", INTERVAL, ENGINE_OFF },
	{ "interval= 5", INTERVAL, ENGINE_OFF },
	{ "interval=5x", INTERVAL, ENGINE_OFF },
	{ "interval=", INTERVAL, ENGINE_OFF },
	{ "wall=20ms", WALL, 20000000 },
	{ "wall=20k", WALL, ENGINE_OFF },
	{ "nativemem=0", MEM, 0 },
	{ "nativemem=3k", MEM, 3072 },
	{ "nativemem=8589934591g", MEM, 8589934591u * (1ull << 30) },
	{ "nativemem=8589934592g", MEM, ENGINE_OFF },
	{ "nativemem=-1k", MEM, ENGINE_OFF },
	{ "nativemem=,", MEM, ENGINE_OFF },
};

START_TEST(quantities_are_bounded)
{
	bool good = quantities[_i].value != ENGINE_OFF;
	struct engine_start start = { .cpu = true, .interval_ns = 1, .wall_ns = 2, .mem_bytes = 3 };

	ck_assert_int_eq(engine_start_set(&start, quantities[_i].option), good ? 0 : -EINVAL);
	ck_assert_uint_eq(*(uint64_t *)((char *)&start + quantities[_i].offset),
			  quantities[_i].value);
}
END_TEST

START_TEST(words)
{
	struct engine_start start = { .cpu = true };

	ck_assert_int_eq(engine_start_set(&start, "event=wall,event=cpu"), 0);
	ck_assert(!start.cpu);
	ck_assert_int_eq(engine_start_set(&start, "event=cpu"), 0);
	ck_assert(start.cpu);
	ck_assert_int_eq(engine_start_set(&start, "event=cpus"), -EINVAL);
	ck_assert_int_eq(engine_start_set(&start, "event=alloc"), -EINVAL);
	ck_assert_int_eq(engine_start_set(&start, "cstack=vm"), 0);
	ck_assert_str_eq(start.cstack, "vm");
	ck_assert_int_eq(engine_start_set(&start, "lock=1,interval=5"), -ENOENT);
	ck_assert_int_eq(engine_start_set(&start, "interval"), -ENOENT);
	ck_assert_int_eq(engine_start_set(&start, ""), -ENOENT);
	ck_assert_uint_eq(start.interval_ns, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("engine_start");

	tcase_add_loop_test(tcase, sampling_is_what_the_start_asks_for, 0,
			    sizeof(samplings) / sizeof(*samplings));
	tcase_add_loop_test(tcase, quantities_are_bounded, 0,
			    sizeof(quantities) / sizeof(*quantities));
	tcase_add_test(tcase, words);
	return suite_run(tcase);
}
