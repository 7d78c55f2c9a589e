/* Which engines a config asks for: async-profiler, the builtin one, or both. */
#include "preload/engines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asyncprof/desk.h"
#include "asyncprof/files.h"
#include "asyncprof/library.h"
#include "asyncprof/library_path.h"
#include "core/loader_gate.h"
#include "core/log.h"
#include "core/own_fds.h"
#include "core/agent/start_string.h"
#include "engine/collect/builtin.h"
#include "engine/collect/label_chunk.h"
#include "preload/interpose/mem.h"
#include "preload/interpose/sample.h"

/* async-profiler, from the library that is loaded in the first call and used in later ones. Returns
 * 0, or as library_open has it. */
static int load_async_profiler(const struct engine **out, const struct config *c, char *problem)
{
	static struct engine engine;
	static bool loaded;
	const void *inside;
	int err;

	err = own_fds_apart() ? desk_open() : 0;
	if (err) {
		snprintf(problem, LIBRARY_PROBLEM_MAX, "cannot start a thread for %s: %s", c->lib,
			 strerror(-err));
		return err;
	}
	/* Who asks for an event that the kernel counts. */
	files_allow_perf(start_string_names_event(c));
	if (!loaded) {
		err = library_open(&engine, c->lib, problem);
		if (err) {
			desk_close();
			return err;
		}
		/* First, as init has handlers to install, and finds out about its imports. */
		inside = (const void *)(uintptr_t)engine.execute;
		sample_engine_library(inside);
		loader_gate_enter();
		err = mem_serve_library(inside);
		loader_gate_leave();
		if (err)
			log_warn("native memory: cannot hand %s our malloc: %s", c->lib,
				 strerror(-err));
		engine.init();
		engine.close = desk_close;
		loaded = true;
	}
	*out = &engine;
	return 0;
}

/* Its library is wanted by the name that it has without a setting. */
static bool library_is_named(const struct config *c)
{
	return strcmp(c->lib, "libasyncProfiler.so") != 0;
}

static bool has_java(void)
{
	return library_path_loaded(NULL, "libjvm.so");
}

/* For a user who has not chosen, async-profiler's descriptors must not come between the program's; it
 * is worth that for Java alone, which the other does not understand. */
static bool may_load(const struct config *c)
{
	if (c->engine == ENGINE_ASYNC_PROFILER)
		return true;
	/* It reads there what is loaded, and starts only where it can. */
	if (access("/proc/self/maps", R_OK))
		return false;
	return library_is_named(c) || own_fds_apart() || has_java();
}

/* async-profiler where it is to be had, else the builtin engine, as the user chose. */
static int choose_engine(const struct engine **engine, const struct config *c, struct wake *wake)
{
	char problem[LIBRARY_PROBLEM_MAX];
	int err = -ENOENT;

	if (c->engine != ENGINE_BUILTIN && may_load(c))
		err = load_async_profiler(engine, c, problem);
	if (!err)
		return 0;
	if (c->engine == ENGINE_ASYNC_PROFILER) {
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
	*engine = builtin_engine(wake);
	return 0;
}

static void look_at_allocators(void)
{
	const char *by = mem_passed_by();

	mem_look_at_next();
	if (by)
		log_warn("native memory: %s has a malloc of its own, and what that does not hand "
			 "on to the next is not seen",
			 by);
}

/* With async-profiler for the rest; the builtin engine has it in hand anyway. */
static void choose_mem_engine(struct agent_equipment *equipment, const struct config *c,
			      struct wake *wake)
{
	if (c->native_mem_bytes == OPTION_OFF || equipment->engine == builtin_engine(wake))
		return;
	if (c->native_mem_engine != MEM_ENGINE_BUILTIN) {
		if (c->native_mem_growth_permil != OPTION_OFF)
			log_warn("NATIVE_MEM_GROWTH needs NATIVE_MEM_ENGINE=builtin beside %s, "
				 "and does nothing",
				 equipment->engine->name);
	} else if (c->cpu_interval_ns == OPTION_OFF && c->wall_interval_ns == OPTION_OFF) {
		equipment->engine = builtin_engine(wake); /* there is nothing else to sample */
	} else {
		equipment->mem_engine = builtin_engine_beside(wake);
	}
}

static void leave_table(void)
{
	int err = own_fds_leave();

	if (!err)
		return;
	log_share();
	log_debug("descriptors stay in the program's table: %s", strerror(-err));
}

int engines_open(struct agent_equipment *equipment, const struct config *c, struct wake *wake)
{
	int err;

	leave_table();
	err = choose_engine(&equipment->engine, c, wake);
	if (err)
		return err;
	choose_mem_engine(equipment, c, wake);
	equipment->write_labels = label_chunk_write;
	if (c->native_mem_bytes != OPTION_OFF) {
		loader_gate_enter();
		look_at_allocators();
		loader_gate_leave();
	}
	return 0;
}

bool engines_may_sample_mem(const struct config *c)
{
	return c->native_mem_bytes != OPTION_OFF &&
	       (c->engine != ENGINE_ASYNC_PROFILER || c->native_mem_engine == MEM_ENGINE_BUILTIN);
}
