/* Profiling session, from an engine's start to its stop. Its intervals become reports for the reporters. Agent
 * thread only. */
#ifndef CORE_AGENT_SESSION_H
#define CORE_AGENT_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/agent/capture.h"
#include "core/agent/equipment.h"
#include "core/agent/overhead.h"
#include "core/agent/running_files.h"
#include "core/options/config.h"
#include "core/agent/recording.h"

/* An engine and the recording that it writes; NULL when it does not run. */
struct source {
	const struct engine *engine;
	struct recording *recording;
};

enum session_state {
	SESSION_RUNS,
	SESSION_PAUSED, /* by session_pause(), or a failed start; until session_resume() */
	SESSION_ENDED,  /* ALL's engine has stopped by itself */
	SESSION_WAITS, /* stopped until a recording fits under the file size limit: each report tries to start */
};

struct session {
	const struct config *config; /* the caller's, later APPLIED */
	struct agent_equipment with; /* session_close() closes the reporters */

	/* The rest is the session's own. */
	struct source all, mem;       /* mem: native memory, if ALL does not sample it */
	struct source thread_sampler; /* one sample of all threads, if ALL cannot */
	int thread_sampler_fd;        /* descriptor of the client's capture */
	char executable[NAME_MAX + 1];
	char engine_version[64];
	struct sampling sampling;           /* of ALL, if not every chunk has it */
	uint64_t interval_began_ms;         /* wall clock, since 1970 */
	struct engine_counts counted;       /* at the end of the last interval */
	uint64_t dropped_chunks;            /* damaged, or beyond the program's file size limit */
	struct running_files running_files; /* the recordings in the spool */
	bool has_running_files;             /* false: the recordings are in memory only */
	uint64_t chunk_due_ns;              /* when the engines must finish a chunk for the spool */
	uint64_t chunk_ns;                  /* time until the chunk after that is due */
	uint64_t size_check_ns;             /* when session_check_size() is due */
	bool has_spool_failed;              /* the recordings stay in memory */
	bool is_mem_in_spool;               /* MEM's recording is in the spool as well */
	bool cannot_free_space;             /* recording_release() failed: the recordings grow */
	bool rotates_by_restart;            /* rotate() does not finish a chunk */
	enum session_state state;
	bool is_end_logged; /* of SESSION_ENDED */

	const struct config *settings; /* apply without captures; the caller's CONFIG, then OWN */
	struct config own;             /* the settings, after one was changed */
	struct config applied;         /* the settings with the intervals of captures */
	char *texts;                   /* malloc'd: strings of the changed settings */
	uint64_t began_ms;             /* the last start, since 1970 */
	uint64_t reports, reports_ms;
	char error[256];
	struct capture captures[LIVE_CAPTURES_MAX];
	size_t capture_count;
	struct overhead overhead;
	uint64_t restart_ns; /* before it, the budget does not restart an engine */
};

/* Start the engines. A failure of the engine for memory is logged, and the session continues without it. Returns 0,
 * or -errno of failed(). */
int session_start(struct session *session);

/* Do the engines' work that is due. Returns when the next work is due (monotonic clock, UINT64_MAX: never). */
uint64_t session_service(struct session *session, uint64_t now_ns);

/* Limit the unreported bytes and the captures. Checks at most ten times a second. Returns true when the interval
 * must be reported early: the recording is in the program's memory, and a report must fit where reports wait. */
bool session_check_size(struct session *session, uint64_t now_ns);

/* Close the current interval, and deliver it if it is not empty. Returns 0, or -errno of failed() when the engine
 * cannot continue. */
int session_report(struct session *session);

/* Finish the chunk of SOURCE, one of the session's, and continue. Returns as above. */
int session_dump(struct session *session, const struct source *source);

/* Finish the chunks of the session's COUNT SOURCES, and append the unreported chunks to CAPTURE, with labels.
 * Returns 0 or -errno, also an earlier error of CAPTURE. */
int session_copy(struct session *session, const struct source *sources, size_t count,
		 struct capture *capture);

/* Make CAPTURE omit the data recorded so far. FINISHES_CHUNKS: finish current chunks first, of any size. Returns 0
 * or -errno. */
int session_begin_capture(struct session *session, struct capture *capture, bool finishes_chunks);

/* Forget all captures: the clients have closed their files. */
void session_forget_captures(struct session *session);

/* As session_report(), then restart the engines with the current settings. Returns as above. If the start fails the
 * session is paused. */
int session_restart(struct session *session);

/* Write the current settings to the running recording's files in the spool, if there are any. A failure is logged. */
void session_update_running_files(struct session *session);

/* True when the engine may be started again. */
bool session_can_restart(const struct session *session);

/* Stop and start the engine for memory, if there is one and memory is sampled. A failure is logged. */
void session_stop_mem(struct session *session);
void session_start_mem(struct session *session);

/* Stop the engines and deliver the last samples; start them again. session_resume() returns 0, or -errno of
 * failed(); then the session stays paused. */
void session_pause(struct session *session);
int session_resume(struct session *session);

/* Stop THREAD_SAMPLER, if it runs. */
void session_stop_thread_sampler(struct session *session);

/* Answer CALL, a request of the live endpoint. Returns 0, or -errno of failed() when the engine cannot continue. */
int session_answer(struct session *session, struct live_call *call);

/* Stop the engines, report the last samples, and wait for their delivery until DRAIN_BY_NS (monotonic clock). */
void session_end(struct session *session, uint64_t drain_by_ns);

/* Free everything, in any state of the session. The recording of an engine that failed is leaked, because the engine
 * may still write to it. */
void session_close(struct session *session);

#endif
