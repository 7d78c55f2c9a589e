/* A session of profiling, from an engine's start to its stop: its intervals become reports, which
 * the reporters are handed. The agent thread's alone. */
#ifndef CORE_AGENT_SESSION_H
#define CORE_AGENT_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/agent/equipment.h"
#include "core/agent/running_files.h"
#include "core/options/config.h"
#include "core/agent/recording.h"

/* An engine, and the file that it writes; NULL when it does not run. */
struct source {
	const struct engine *engine;
	struct recording *recording;
};

struct session {
	const struct config *config; /* the caller's */
	struct agent_equipment with; /* session_close() closes the reporters */

	/* The rest is the session's own. */
	struct source all, mem; /* mem: native memory where ALL is not to sample it */
	struct source look;     /* at the threads, where ALL cannot; while it goes on */
	int thread_sampler_fd;  /* for whom */
	char executable[NAME_MAX + 1];
	char engine_version[64];
	struct sampling sampling;     /* of ALL, where its chunks do not each tell it */
	uint64_t interval_began_ms;   /* wall clock, since 1970 */
	struct engine_counts counted; /* at the end of the last interval */
	struct kept *kept;            /* the recordings, in the spool; NULL: in memory alone */
	uint64_t chunk_due_ns;        /* when ALL is to finish one for it */
	uint64_t chunk_took_ns;       /* of processor time, the last one */
	bool has_spool_failed;        /* so they stay in memory */
	bool is_mem_in_spool;         /* MEM's recording is there as well */
	bool rotates_by_restart;      /* dump does not finish a chunk */
	bool ended;                   /* ALL's engine has, by itself */
	bool paused;                  /* no engine runs, until session_resume() */

	struct config own; /* the settings, once one of them was changed */
	char *texts;       /* malloc'd: of the changed ones */
	uint64_t began_ms; /* the last start, since 1970 */
	uint64_t reports, reports_ms;
	char error[256];
	struct capture {
		int fd; /* the asker's */
		int err;
	} captures[LIVE_CAPTURES_MAX];
	size_t capture_count;
};

/* Start the engines that the session is equipped with. One for memory that cannot is said in the
 * log and done without. Returns 0, or -errno as failed() has it. */
int session_start(struct session *session);

/* Do what the engines have due. Returns when they want that again (monotonic clock, UINT64_MAX:
 * never). */
uint64_t session_service(struct session *session, uint64_t now_ns);

/* Close the interval that is under way, and have it delivered when there is something in it.
 * Returns 0, or -errno as failed() has it: the engine cannot go on. */
int session_report(struct session *session);

/* Have SOURCE, one of the session's, finish its chunk, and go on. Returns as above. */
int session_dump(struct session *session, const struct source *source);

/* Have the COUNT SOURCES, of the session's, finish their chunks, and append what is not reported yet to FD, with whom it
 * is of. Returns 0 or -errno. */
int session_copy(struct session *session, const struct source *sources, size_t count, int fd);

/* As session_report, and start the engines anew, with the settings as they are now. Returns as above; where it is the
 * start that failed the session is paused. */
int session_restart(struct session *session);

/* Whether the engine may be started a second time. async-profiler 4.5 may not in a process with a Java machine:
 * what it does there then ends the program (seen with OpenJDK 17). */
bool session_can_restart(const struct session *session);

/* Stop the engine for memory alone, and start it, where there is one and memory is to be sampled. One that cannot is said in
 * the log. */
void session_stop_mem(struct session *session);
void session_start_mem(struct session *session);

/* Stop the engines, and have what they have sampled last delivered; start them again. The second returns
 * 0, or -errno as failed() has it: then the session is paused still. */
void session_pause(struct session *session);
int session_resume(struct session *session);

/* No look at the threads is to go on. */
void session_stop_thread_sampler(struct session *session);

/* Answer CALL, what a live endpoint asks. Returns 0, or -errno as failed() has it: the engine cannot go
 * on. */
int session_answer(struct session *session, struct live_call *call);

/* Stop the engines, report what they have sampled last, and wait for its delivery until DRAIN_BY_NS
 * (monotonic clock). */
void session_end(struct session *session, uint64_t drain_by_ns);

/* Release all that there is, at whatever point the session is. The recording of an engine that
 * failed stays in the process: it may write there for ever. */
void session_close(struct session *session);

#endif
