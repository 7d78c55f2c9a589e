/* The start string, for each combination of its options. */
#include "asyncprof/start_string.h"

#include <errno.h>
#include <stdlib.h>

#include "core/agent/engine_start.h"
#include "test/fixtures/suite.h"

#define VARIABLES 8

static const struct {
	const char *set[VARIABLES]; /* NULL-terminated environment */
	const char *path;
	bool mem;
	const char *expected; /* NULL: refused with -EINVAL */
} cases[] = {
	{ { NULL },
	  "/proc/self/fd/400",
	  true,
	  "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=dwarf,"
	  "file=/proc/self/fd/400" },
	{ { "ASPROF_AGENT_CPU_INTERVAL=1s", "ASPROF_AGENT_WALL_INTERVAL=10s",
	    "ASPROF_AGENT_NATIVE_MEM=5000000" },
	  "/tmp/test.jfr",
	  true,
	  "start,event=cpu,interval=1000000000,wall=10000ms,jfr,cstack=dwarf,file=/tmp/test.jfr,"
	  "nativemem=5000000" },
	{ { "ASPROF_AGENT_NATIVE_MEM=10m" },
	  "/r",
	  true,
	  "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=dwarf,file=/r,"
	  "nativemem=10m" },
	{ { "ASPROF_AGENT_NATIVE_MEM=2048k" },
	  "/r",
	  true,
	  "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=dwarf,file=/r,nativemem=2m" },
	{ { "ASPROF_AGENT_NATIVE_MEM=0" },
	  "/r",
	  true,
	  "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=dwarf,file=/r,nativemem=0" },
	{ { "ASPROF_AGENT_NATIVE_MEM=10m" }, /* the other engine samples it */
	  "/r",
	  false,
	  "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=dwarf,file=/r" },
	{ { "ASPROF_AGENT_WALL_INTERVAL=1500us", "ASPROF_AGENT_CPU_INTERVAL=250us" },
	  "/r",
	  true,
	  "start,event=cpu,interval=250000,wall=1500us,jfr,cstack=dwarf,file=/r" },
	{ { "ASPROF_AGENT_WALL_INTERVAL=2000us" },
	  "/r",
	  true,
	  "start,event=cpu,interval=100000000,wall=2ms,jfr,cstack=dwarf,file=/r" },
	{ { "ASPROF_AGENT_WALL_INTERVAL=off" },
	  "/r",
	  true,
	  "start,event=cpu,interval=100000000,jfr,cstack=dwarf,file=/r" },
	{ { "ASPROF_AGENT_ENGINE_OPTIONS=alluser,event=cache-misses" },
	  "/r",
	  true,
	  "start,interval=100000000,wall=1000ms,jfr,cstack=dwarf,file=/r,"
	  "alluser,event=cache-misses" },
	{ { "ASPROF_AGENT_ENGINE_OPTIONS=event=alloc", "ASPROF_AGENT_CPU_INTERVAL=off" },
	  "/r",
	  true,
	  "start,interval=1000ms,jfr,cstack=dwarf,file=/r,event=alloc" },
	{ { "ASPROF_AGENT_ENGINE_OPTIONS=noevent=cpu" },
	  "/r",
	  true,
	  "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=dwarf,file=/r,noevent=cpu" },
	{ { "ASPROF_AGENT_CPU_INTERVAL=off" },
	  "/r",
	  true,
	  "start,event=wall,interval=1000ms,jfr,cstack=dwarf,file=/r" },
	{ { "ASPROF_AGENT_CPU_INTERVAL=0", "ASPROF_AGENT_WALL_INTERVAL=300us" },
	  "/r",
	  true,
	  "start,event=wall,interval=300us,jfr,cstack=dwarf,file=/r" },
	{ { "ASPROF_AGENT_CPU_INTERVAL=off", "ASPROF_AGENT_WALL_INTERVAL=off",
	    "ASPROF_AGENT_NATIVE_MEM=512k" },
	  "/r",
	  true,
	  "start,jfr,cstack=dwarf,file=/r,nativemem=512k" },
	{ { "ASPROF_AGENT_CSTACK=fp", "ASPROF_AGENT_ENGINE_OPTIONS=memlimit=64m,nofree",
	    "ASPROF_AGENT_NATIVE_MEM=1g" },
	  "/r",
	  true,
	  "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=fp,file=/r,nativemem=1g,"
	  "memlimit=64m,nofree" },
	{ { "ASPROF_AGENT_LOCK=10ms", "ASPROF_AGENT_NATIVE_MEM=1g",
	    "ASPROF_AGENT_ENGINE_OPTIONS=nofree" },
	  "/r",
	  true,
	  "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=dwarf,file=/r,nativemem=1g,"
	  "lock=10ms,nofree" },
	{ { "ASPROF_AGENT_LOCK=1500us" },
	  "/r",
	  true,
	  "start,event=cpu,interval=100000000,wall=1000ms,jfr,cstack=dwarf,file=/r,lock=1500us" },
	{ { NULL }, "/tmp/a,b.jfr", true, NULL },
	{ { NULL }, "/tmp/%p.jfr", true, NULL },
};

#define CASES (sizeof(cases) / sizeof(*cases))

START_TEST(start_string_is_as_documented)
{
	struct buf out = BUF_INIT(4096);
	char problem[OPTION_PROBLEM_MAX];
	struct engine_start start;
	struct config config;
	int err;

	err = config_read(&config, (char *const *)cases[_i].set, problem);
	ck_assert_msg(!err, "%s", problem);
	start = engine_start_of(&config, cases[_i].mem);
	start.file = cases[_i].path;
	err = start_string_write(&out, &start);
	if (cases[_i].expected) {
		ck_assert_int_eq(err, 0);
		ck_assert_str_eq(buf_string(&out), cases[_i].expected);
	} else {
		ck_assert_int_eq(err, -EINVAL);
	}
	buf_free(&out);
	config_free(&config);
}
END_TEST

START_TEST(a_full_buffer_is_an_error)
{
	struct buf out = BUF_INIT(24);
	char *const environment[] = { NULL };
	char problem[OPTION_PROBLEM_MAX];
	struct engine_start start;
	struct config config;

	ck_assert_int_eq(config_read(&config, environment, problem), 0);
	start = engine_start_of(&config, true);
	start.file = "/r";
	ck_assert_int_eq(start_string_write(&out, &start), -EFBIG);
	buf_free(&out);
	config_free(&config);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("start_string");

	tcase_add_loop_test(tcase, start_string_is_as_documented, 0, CASES);
	tcase_add_test(tcase, a_full_buffer_is_an_error);
	return suite_run(tcase);
}
