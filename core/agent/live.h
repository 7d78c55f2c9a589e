/* What a live endpoint asks of the session: one thread of ours asks, the agent thread answers when it comes by.
 * So nothing of the session needs a lock, and no answer disturbs a report that is under way. */
#ifndef CORE_AGENT_LIVE_H
#define CORE_AGENT_LIVE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/agent/engine.h"
#include "core/agent/report.h"
#include "core/options/config.h"
#include "core/wake.h"

/* Room for words on what was wrong. */
#define LIVE_PROBLEM_MAX 512

/* Options that one request may set, and the bytes that they are written in. */
#define LIVE_OPTIONS_MAX 16
#define LIVE_TEXT_MAX    8192

/* Recordings that may be taken at one time. */
#define LIVE_CAPTURES_MAX 4

enum live_request {
	LIVE_STATUS,
	LIVE_STOP,    /* take no more samples; -EALREADY where none are taken */
	LIVE_START,   /* go on; -EALREADY where samples are taken */
	LIVE_FLUSH,   /* report now; -ESRCH where no samples are taken */
	LIVE_OPTIONS, /* set some; -EINVAL with a problem */
	LIVE_BEGIN,   /* copy what is recorded from now on to FD */
	LIVE_END,     /* until now */
	LIVE_CANCEL,  /* copy no more to FD */
	LIVE_THREADS, /* have every thread sampled now; -ENOTSUP, or -EINPROGRESS until all are */
	LIVE_THREADS_LEFT, /* likewise, without asking them again */
};

/* How it stands with one destination. */
struct live_destination {
	char name[16];
	uint64_t delivered, failed; /* reports, and tries that failed */
	uint64_t maybe_twice;       /* messages, as struct reporter has it */
	uint64_t delivered_ms;      /* the last one, since 1970; 0: none */
	int error;                  /* of the last try, -errno; 0: it went well */
	bool waiting;               /* for the next try */
};

#define LIVE_DESTINATIONS_MAX 4

struct live_status {
	bool running;
	char executable[NAME_MAX + 1], engine[24], engine_version[64];
	uint64_t since_ms; /* the session's beginning, or its last start; since 1970 */
	uint64_t samples;  /* taken since, but by an engine that does not tell before a report */
	uint64_t lost;     /* of them */
	struct engine_losses kinds;
	uint64_t reports;    /* handed to the destinations */
	uint64_t reports_ms; /* the last one; 0: none */
	char error[256];     /* the last failure of the session itself */
	struct live_destination destinations[LIVE_DESTINATIONS_MAX];
	size_t destination_count;
	struct report_losses losses;

	/* The settings now, of struct config. */
	uint64_t reporting_interval_ns, cpu_interval_ns, wall_interval_ns, native_mem_bytes,
		stalls_ns;
	bool memory; /* what native memory retains is known: the builtin engine samples it */
	int log;     /* enum log_level */
	char group[512], tags[4096];
};

struct live_option {
	const char *name; /* of the table, without the prefix */
	const char *value;
};

struct live_call {
	enum live_request question;
	int fd; /* the asker's; not of those above BEGIN */
	bool anew; /* of BEGIN: what is counted up to now, as of a thread that sleeps, is to be an event of its
		      * own, and not one with what comes */
	struct live_option options[LIVE_OPTIONS_MAX];
	size_t option_count;

	/* The answer. */
	int err;
	char problem[LIVE_PROBLEM_MAX];
	struct live_status status;
};

struct live {
	_Atomic uint32_t state; /* a futex for who asks */
	struct wake *agent;
	struct live_call *call;
};

/* The endpoint, as the agent knows it. All calls are made on the agent thread. */
struct live_endpoint {
	/* Begin to listen, as CONFIG has it: the session has begun. LIVE is there until close(). What fails is
	 * said in the log. */
	void (*open)(struct live *live, const struct config *config);

	/* End it; nobody asks any more. */
	void (*close)(struct live *live);
};

/* The asker's: have CALL answered. Returns what is in call->err then, or -ECANCELED when the endpoint is to
 * end. There is no bound but the agent's own work: an upload is none of that. */
int live_send(struct live *live, struct live_call *call);

/* The agent thread's. The question that waits for an answer, or NULL; and it is answered. */
struct live_call *live_get_pending(struct live *live);
void live_complete(struct live *live);

/* Whoever asks gets -ECANCELED from now on; and from none before it is opened again. */
void live_open(struct live *live, struct wake *agent);
void live_cancel(struct live *live);

#endif
