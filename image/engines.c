/* Choice of engines: async-profiler, the builtin engine, or both. */
#include "image/engines.h"

#include <errno.h>

#include "core/agent/async_profiler.h"
#include "core/log.h"
#include "core/shared.h"
#include "engine/collect/builtin.h"
#include "engine/collect/crash_chunk.h"
#include "engine/collect/label_chunk.h"
#include "engine/collect/wait_log.h"
#include "engine/memory/mem.h"
#include "engine/memory/mem_record.h"
#include "engine/runtime/runtimes.h"
#include "engine/wait/wait_look.h"

_Static_assert((int)WAIT_ALL == (int)WAITS_ON && (int)WAIT_KINDS == (int)WAITS_KINDS &&
		       (int)WAIT_OFF == (int)WAITS_OFF,
	       "the setting is a detail of looks");

/* async-profiler where its library is found, else the builtin engine; as the user chose. */
static int choose_engine(const struct engine **engine, const struct config *c, struct wake *wake)
{
	static struct engine async_profiler;
	char problem[ASYNC_PROFILER_PROBLEM_MAX];
	int err = -ENOENT;

	if (c->engine != ENGINE_BUILTIN)
		err = async_profiler_open(&async_profiler, c, wake, problem);
	if (!err) {
		*engine = &async_profiler;
		return 0;
	}
	async_profiler_close();
	if (err == -ECANCELED)
		return err;
	if (shared->async_profiler_lost)
		log_info("async-profiler does not live through a fork; the builtin engine profiles "
			 "this process");
	/* (Where the program itself uses async-profiler, the user cannot fix that.) */
	if (c->engine == ENGINE_ASYNC_PROFILER && err != -EBUSY) {
		if (err == -ENOENT)
			log_error("cannot find %s: install async-profiler, or name its library in "
				  "ASPROF_AGENT_LIB; profiling is off in this process",
				  c->lib);
		else
			log_error("%s; profiling is off in this process", problem);
		return err;
	}
	if (err != -ENOENT)
		log_warn("%s; the builtin engine is used instead", problem);
	if (c->lock_ns != OPTION_OFF && shared->is_attached)
		log_warn("LOCK has no effect in a program that does not load the preload");
	*engine = builtin_engine(wake);
	return 0;
}

static void warn_of_allocator(void)
{
	const char *library = mem_passed_by();

	if (library)
		log_warn("native memory: %s has its own malloc; allocations that it does not "
			 "forward "
			 "are not sampled",
			 library);
}

/* Choose the engine for native memory if async-profiler is the other engine. (The builtin engine samples memory
 * itself.) */
static void choose_mem_engine(struct agent_equipment *equipment, const struct config *c,
			      struct wake *wake)
{
	if (c->native_mem_bytes == OPTION_OFF || equipment->engine == builtin_engine(wake))
		return;
	if (c->native_mem_engine != MEM_ENGINE_BUILTIN) {
		mem_record_cancel_early();
		if (c->native_mem_growth_permil != OPTION_OFF)
			log_warn("NATIVE_MEM_GROWTH needs NATIVE_MEM_ENGINE=builtin with %s, "
				 "and has no effect",
				 equipment->engine->name);
	} else if (c->cpu_interval_ns == OPTION_OFF && c->wall_interval_ns == OPTION_OFF) {
		equipment->engine = builtin_engine(wake); /* there is nothing else to sample */
	} else {
		equipment->mem_engine = builtin_second_engine(wake);
	}
}

/* Where no engine reads the rings that crashes are written to. */
static void choose_crash_writer(struct agent_equipment *equipment, const struct config *c,
				struct wake *wake)
{
	if (!c->crash || equipment->mem_engine || equipment->engine == builtin_engine(wake) ||
	    c->native_mem_limit_bytes != OPTION_OFF)
		return;
	if (!crash_chunk_open(wake))
		equipment->write_crash = crash_chunk_write;
}

static void choose_thread_sampler(struct agent_equipment *equipment, const struct config *c,
				  struct wake *wake)
{
	if (!equipment->engine->sample_threads && !equipment->mem_engine &&
	    c->native_mem_limit_bytes == OPTION_OFF)
		equipment->thread_sampler = builtin_engine_to_look(wake);
}

static void choose_wait_log(struct agent_equipment *equipment, const struct config *c)
{
	if (c->waits == WAITS_OFF || equipment->engine->service)
		return;
	equipment->look_at_waits = wait_log_service;
	equipment->forget_waits = wait_log_forget;
}

int engines_open(struct agent_equipment *equipment, const struct config *c, struct wake *wake)
{
	int err;

	runtimes_wanted(c->frames == FRAMES_AUTO);
	wait_look_detail((enum wait_detail)c->waits);
	err = choose_engine(&equipment->engine, c, wake);
	if (err)
		return err;
	choose_mem_engine(equipment, c, wake);
	equipment->write_labels = label_chunk_write;
	choose_crash_writer(equipment, c, wake);
	choose_thread_sampler(equipment, c, wake);
	choose_wait_log(equipment, c);
	if (c->native_mem_bytes != OPTION_OFF)
		warn_of_allocator();
	return 0;
}
