/* Memory that the program's threads and the agent's threads share: plain words, some of them futexes.
 *
 * The agent may be an image with its own C library (image/start.h). So this has no locks, streams or types of a C
 * library. Pointers are valid on both sides, except where a comment says otherwise. */
#ifndef CORE_SHARED_H
#define CORE_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/wake.h"

/* Maximum number of reporters. Each has a thread and a line in the status. */
#define REPORTERS_MAX 8

/* Maximum number of own threads: one for each reporter, `asprof-engine`, `asprof-files`, `asprof-live` and
 * `asprof-stalls`. */
#define OWN_THREADS_MAX (REPORTERS_MAX + 4)

/* Maximum number of threads that check their privileges: the agent's, the own threads, and async-profiler's. */
#define CHECKERS_MAX (1 + OWN_THREADS_MAX + 4)

/* Maximum number of log lines in the queue for the agent thread, and the size of each: paths and error texts fit. */
#define QUEUED_LINES_MAX 8
#define LOG_LINE_MAX     1024

/* Kinds of sampling cost; see core/cost.h. */
#define COST_KINDS 6

/* Sizes of a setting's name and value, with the NUL. */
#define SETTING_NAME_MAX  64
#define SETTING_VALUE_MAX 1024

struct engine;
struct mailbox;
struct region_word;

/* A descriptor, and the identity of its file to detect that the program replaced it. */
struct log_file {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
};

/* Memory of the attached side (attach/) in its program. All of it is unmapped when the agent is removed. */
struct attached_range {
	size_t start, bytes;         /* of the code, its data and its first stack */
	size_t region, region_bytes; /* core/memory/region.h */

	/* Areas of threads (attach/thread_area.h): AREA_BLOCKS addresses of blocks (0: none) are at AREAS, each with
	 * BLOCK_AREAS areas of AREA_BYTES. */
	size_t areas, area_blocks, block_areas, area_bytes;
};

/* As text, for the live endpoint: the numbers in this order. */
#define ATTACHED_RANGE_FORMAT "%#zx %#zx %#zx %#zx %#zx %zu %zu %zu"
#define ATTACHED_RANGE_SCAN   "%zx %zx %zx %zx %zx %zu %zu %zu"

struct queued_line {
	_Atomic uint32_t
		state; /* of core/log.c; a futex for the thread that waits until it is written */
	const char *format; /* on the host's side, with NUMBER; NULL: use TEXT */
	int number;
	size_t length;
	char text[LOG_LINE_MAX];
};

/* Members that a forked child writes come first, together: each page that it writes is a page fault. */
struct shared {
	/* core/memory/region.h */
	struct {
		uintptr_t start;
		size_t bytes;              /* 0: none is reserved */
		struct region_word *words; /* the bitmap */
		pid_t process;
		atomic_bool is_locked; /* the program has called mlockall(2) */
		atomic_bool was_full;
	} region;

	/* core/memory/account.h */
	struct {
		size_t page;
		_Atomic uint64_t limit;  /* 0: none */
		_Atomic uint64_t tables; /* as last measured */
		_Atomic int64_t captures;
		_Atomic uint64_t refused[4];      /* by enum memory_use */
		uint64_t (*_Atomic unused)(void); /* of the sparse tables; NULL: there are none */
	} memory;

	/* core/agent.h: requests to the agent thread, and its state. */
	struct {
		_Atomic pid_t
			id; /* the agent thread's id if the C library did not create it; else 0 */
		struct wake wake;
		_Atomic uint32_t
			state; /* enum agent_phase and AGENT_STOP; a futex for threads that wait for the end */
		_Atomic uint32_t flushes_asked; /* number of requests since the process began */
		_Atomic uint32_t flushes_done;  /* number of completed requests; a futex */
		_Atomic uint32_t follows_asked; /* the same for requests to drop privileges */
		_Atomic uint32_t follows_done;
		_Atomic uint64_t stop_by_ns;
		uint64_t due_ns; /* end of the start delay; written before the thread starts */
		_Atomic int
			failure; /* -errno of a thread that ended and could not log it; else 0 */
		const struct engine *_Atomic running_engine;
		/* The running engine has no thread of its own. The engine's struct is in the image, which does not
		 * exist in a forked child. */
		_Atomic bool engine_is_served;
		atomic_bool is_paused; /* no samples are taken until profiling is resumed */
		atomic_bool
			is_leaving; /* the agent ends because the program, or its user, wants no more samples */
		/* Bytes that the image has mapped, except the stacks of its threads (image/memory.c). */
		_Atomic int64_t memory_bytes;
		/* core/agent/lost_reports.h */
		_Atomic uint32_t reports_waiting;
		atomic_bool is_recording, is_loss_logged;
		/* Setting request by a thread of the program; core/agent.h. */
		struct {
			_Atomic uint32_t state; /* enum agent_setting; a futex */
			int err;
			char name[SETTING_NAME_MAX];
			char value[SETTING_VALUE_MAX];
		} setting;
	} agent;

	/* The host's side was put into the program by a tracer (attach/): there are no interposers. */
	bool is_attached;
	struct attached_range attached;

	/* The struct r_debug of the program's dynamic linker; NULL: not known. */
	const void *loader_debug;

	/* core/preload_code.h. Addresses of the preload's code, of its interposers, and of the C library, which has
	 * the wrapped functions (0: not known). */
	struct {
		uintptr_t code, code_bytes, calls, calls_bytes, c_library;
	} preload;

	/* asyncprof/mailbox.h, on the host's side; NULL where async-profiler is not used. */
	struct mailbox *async_profiler;

	/* In a forked child: its parent had async-profiler, which does not survive fork(2). */
	bool async_profiler_lost;

	/* core/own_thread.h: ids of own threads; 0: free. */
	_Atomic pid_t own_threads[OWN_THREADS_MAX];

	/* Ids of the last ended thread of each place; the last entry is the agent's thread. 0: none. */
	_Atomic pid_t ended_threads[OWN_THREADS_MAX + 1];

	/* core/privileges.h */
	struct {
		_Atomic uint32_t
			changes; /* counts how often the program may have dropped privileges */
		/* Threads whose privileges do not count as the program's. */
		struct {
			_Atomic pid_t tid;
			_Atomic uint32_t followed; /* value of CHANGES at its last check */
		} checkers[CHECKERS_MAX];
		/* A thread of the program that has all privileges of the own threads; 0: not known. */
		_Atomic pid_t holder;
		_Atomic uint64_t permitted; /* capabilities of the agent's main thread */
	} privileges;

	/* core/cost.h */
	struct {
		_Atomic uint64_t samples, signals;
		_Atomic uint64_t handlers_ns; /* time in handlers and hooks */
		_Atomic uint64_t agent_ns;    /* CPU time of the agent's thread for these samples */
	} costs[COST_KINDS];

	/* core/executable.h */
	struct {
		bool is_known;
		dev_t dev;
		ino_t ino;
	} root;

	/* core/log.h */
	struct {
		int level;                  /* enum log_level */
		struct log_file standard;   /* the program's stderr */
		const char *path;           /* of LOG_FILE; NULL: stderr only */
		struct log_file in_program; /* that file in the program's table */
		struct wake *_Atomic agent; /* wakes the writer of queued lines; or NULL */
		atomic_bool forgotten;
		atomic_bool was_used; /* a line was queued at least once */
		struct queued_line queue[QUEUED_LINES_MAX];
	} log;
};

/* The only one in the process. In the image it is the program's, after the image has begun. */
extern struct shared *shared;

#endif
