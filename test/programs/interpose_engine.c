/* Linked with the interposers into a separate preload: async-profiler's library, which
 * ASPROF_TEST_LIB names, samples every 2 milliseconds into TEST_RECORDING. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "asyncprof/replaced_calls.h"
#include "asyncprof/signal_handlers.h"
#include "core/asprof.h"
#include "preload/interpose/fatal.h"
#include "preload/interpose/sample.h"
#include "test/programs/hooks.h"

static asprof_error_t (*execute)(const char *command, asprof_writer_t output);

static void signal_claimed(int signo)
{
	fprintf(stderr, "claimed %d\n", signo);
}

static bool ignore_broadcast(void)
{
	return false;
}

static const struct interpose_hooks hooks = {
	.thread_started = ignore_thread,
	.thread_ended = ignore,
	.before_last_thread_ends = ignore,
	.process_cloned = ignore,
	.process_exiting = ignore_exit,
	.process_exiting_again = ignore,
	.termination_requested = ignore,
	.crashed = ignore_crash,
	.exec_failed = ignore,
	.before_namespace_change = ignore_namespace_change,
	.after_namespace_change = ignore,
	.before_credential_broadcast = ignore_broadcast,
	.after_credential_broadcast = ignore,
	.credentials_lost = ignore,
	.before_sandbox = ignore_armed,
	.before_syscall_dispatch = ignore_armed,
	.before_tsc_is_disabled = ignore,
	.before_landlock = ignore,
	.after_landlock = ignore_landlock,
	.signal_claimed = signal_claimed,
};

static void to_stderr(const char *text, size_t size)
{
	fwrite(text, 1, size, stderr);
}

__attribute__((constructor)) static void load(void)
{
	void *library = dlopen(getenv("ASPROF_TEST_LIB"), RTLD_NOW);
	void (*init)(void) = (void (*)(void))dlsym(library, "asprof_init");
	char command[512];
	sigset_t all, old;

	execute = (__typeof__(execute))dlsym(library, "asprof_execute");
	interpose_set_hooks(&hooks);
	signal_handlers_set_library((const void *)init);
	if (replaced_calls_install((const void *)init))
		abort();
	signal_handlers_offer_signal(60);
	signal_handlers_offer_signal(61);
	exit_arm();
	fatal_install();
	/* async-profiler's threads inherit the mask, as in the agent: none gets a signal of the
	 * process. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	init();
	snprintf(command, sizeof(command),
		 "start,event=cpu,interval=2000000,wall=2ms,jfr,cstack=dwarf,file=%s",
		 getenv("TEST_RECORDING"));
	unsetenv("LD_PRELOAD"); /* children must not write to the same file */
	if (execute(command, to_stderr))
		abort();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

__attribute__((destructor)) static void unload(void)
{
	if (execute("stop", to_stderr))
		fprintf(stderr, "cannot stop\n");
}
