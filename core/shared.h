/* What the program's threads and the agent's both have in their hands: a few words of plain memory,
 * futexes among them. The agent may be an image with a C library of its own (image/shared.h), so nothing
 * here is a lock, a stream or a type of a C library, and no pointer leads to what only one side can
 * follow, but where that is said. */
#ifndef CORE_SHARED_H
#define CORE_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/wake.h"

/* Threads of ours at one time. */
#define OWN_THREADS_MAX 8

/* Threads, ours or async-profiler's, that look at their privileges. */
#define CHECKERS_MAX 16

/* Lines of the log that may wait for the agent thread, and the length of each: paths and error texts
 * fit. */
#define QUEUED_LINES_MAX 8
#define LOG_LINE_MAX     1024

/* A setting's name and value, with the zero at the end. */
#define SETTING_NAME_MAX  64
#define SETTING_VALUE_MAX 1024

/* What the image has mapped at one time is some twenty areas; of more a forked child keeps what is left over. */
#define IMAGE_AREAS_MAX 128

struct engine;
struct mailbox;

/* That the image has mapped for itself. */
struct image_area {
	_Atomic uintptr_t start; /* 0: none; 1: about to be one */
	size_t bytes;
};

/* One file, as long as it stands at its number. */
struct log_file {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

struct queued_line {
	_Atomic uint32_t state; /* of core/log.c; a futex for who waits until it is said */
	const char *format; /* the program's side's, with NUMBER; NULL: the text is what to say */
	int number;
	size_t length;
	char text[LOG_LINE_MAX];
};

/* What a forked child writes is in front: each page that it writes is a fault. */
struct shared {
	/* core/agent.h: what is asked for, and how far the agent thread has come. */
	struct {
		_Atomic pid_t
			id; /* of the thread, where it is not one of the C library's; else 0 */
		struct wake wake;
		_Atomic uint32_t
			state; /* enum agent_phase, AGENT_STOP; a futex for who waits for an end */
		_Atomic uint32_t flushes_asked; /* so often, since the process began */
		_Atomic uint32_t flushes_done;  /* of these; a futex for those who wait */
		_Atomic uint32_t follows_asked; /* likewise, for privileges to be given up */
		_Atomic uint32_t follows_done;
		_Atomic uint64_t stop_by_ns;
		uint64_t due_ns; /* when the start delay is over; before the thread is there */
		_Atomic int
			failure; /* -errno: why the thread has ended that cannot say so; else 0 */
		const struct engine *_Atomic running_engine;
		/* ... which has no thread of its own. (What the engine is made of lies in the image,
		 * where a forked child finds nothing.) */
		_Atomic bool engine_is_served;
		atomic_bool paused; /* no samples are taken until one asks for them again */
		atomic_bool
			is_leaving; /* it is to end as the program, or its user, wants no more samples */
		/* What the image has mapped, but for the stacks of its threads (image/memory.c). */
		_Atomic int64_t memory_bytes;
		/* A setting that a thread of the program wants; core/agent.h. */
		struct {
			_Atomic uint32_t state; /* enum agent_setting; a futex for who waits */
			int err;
			char name[SETTING_NAME_MAX];
			char value[SETTING_VALUE_MAX];
		} setting;
	} agent;

	/* The struct r_debug of the program's loader; NULL: not told. */
	const void *loader_debug;

	/* core/preload_code.h. What the program calls there is in the C library without us, where
	 * C_LIBRARY is; 0: not told. */
	struct {
		uintptr_t code, code_bytes, calls, calls_bytes, c_library;
	} preload;

	/* asyncprof/mailbox.h; NULL where async-profiler is not to be had. The program's side's. */
	struct mailbox *async_profiler;

	/* In a forked child: its parent had async-profiler, which does not live through a fork. */
	bool async_profiler_lost;

	/* core/own_thread.h: ids, 0 where one is free. */
	_Atomic pid_t own_threads[OWN_THREADS_MAX];

	/* Who had that place last, and behind them the agent's thread; 0: nobody. */
	_Atomic pid_t ended_threads[OWN_THREADS_MAX + 1];

	/* core/privileges.h */
	struct {
		_Atomic uint32_t
			changes; /* so many times the program may have given something up */
		/* Threads whose privileges are no reason for others to keep theirs. */
		_Atomic pid_t checkers[CHECKERS_MAX];
		/* A thread of the program that had what we have when the main one had not. */
		_Atomic pid_t holder;
		/* The last look that found nothing to give up: a print of what its thread had, in the upper half,
		 * and when it was, in milliseconds. Who has the same need not look. */
		_Atomic uint64_t looked;
	} privileges;

	/* core/log.h */
	struct {
		int level;                  /* enum log_level */
		struct log_file standard;   /* the program's stderr */
		const char *path;           /* of LOG_FILE; NULL: stderr alone */
		struct log_file in_program; /* that file, where the agent has no table of its own */
		struct wake *_Atomic agent; /* who says what is kept; NULL: nobody */
		atomic_bool forgotten;
		atomic_bool was_used; /* a line, once */
		struct queued_line kept[QUEUED_LINES_MAX];
	} log;

	/* image/memory.h: what an image that begins finds here is its ancestors'. */
	struct image_area image_areas[IMAGE_AREAS_MAX];
};

/* There is one in a process; in the image, after it has begun, the program's. */
extern struct shared *shared;

#endif
