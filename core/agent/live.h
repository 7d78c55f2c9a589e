/* Mailbox for requests of the live endpoint to the session. One own thread sends a request, and the agent thread
 * answers between its other work. So the session needs no lock, and no request disturbs a running report. */
#ifndef CORE_AGENT_LIVE_H
#define CORE_AGENT_LIVE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/agent/engine.h"
#include "core/agent/report.h"
#include "core/options/config.h"
#include "core/shared.h"
#include "core/wake.h"

/* Size of an error message. */
#define LIVE_PROBLEM_MAX 512

/* Maximum number of options in one request, and their total bytes. */
#define LIVE_OPTIONS_MAX 16
#define LIVE_TEXT_MAX    8192

/* Maximum number of simultaneous captures. */
#define LIVE_CAPTURES_MAX 4

enum live_request {
	LIVE_STATUS,
	LIVE_STOP,   /* pause sampling; -EALREADY during a pause */
	LIVE_START,  /* resume sampling; -EALREADY without a pause */
	LIVE_DETACH, /* end the agent, which a tracer has put into the program; -EINVAL for others */
	LIVE_FLUSH,  /* report now; -ESRCH during a pause */
	LIVE_OPTIONS, /* set options; -EINVAL with a problem */
	LIVE_BEGIN, /* begin a capture: copy new data to FD; with temporary intervals if there are options */
	LIVE_END,     /* end the capture to FD, up to now */
	LIVE_CANCEL,  /* discard the capture to FD */
	LIVE_THREADS, /* sample every thread now; -ENOTSUP, or -EINPROGRESS until all are sampled */
	LIVE_THREADS_LEFT, /* ask for the progress of LIVE_THREADS */
};

/* Status of one destination. */
struct live_destination {
	char name[16];
	uint64_t delivered, failed; /* reports, and failed attempts */
	uint64_t maybe_twice;       /* messages; see struct reporter */
	uint64_t delivered_ms;      /* the last one, since 1970; 0: none */
	int error;                  /* -errno of the last attempt; 0: success */
	bool waiting;               /* for the next attempt */
};

struct live_status {
	bool running;
	char executable[NAME_MAX + 1], engine[24], engine_version[64];
	uint64_t since_ms; /* start or last resume of the session; since 1970 */
	uint64_t samples;  /* taken since; engines without live counts update it at each report */
	uint64_t lost;     /* lost samples */
	struct engine_losses kinds;
	uint64_t reports;    /* passed to the destinations */
	uint64_t reports_ms; /* the last one; 0: none */
	char error[256];     /* last error of the session */
	struct live_destination destinations[REPORTERS_MAX];
	size_t destination_count;
	struct report_losses losses;

	/* Current settings; see struct config. */
	uint64_t reporting_interval_ns, cpu_interval_ns, wall_interval_ns, native_mem_bytes,
		stalls_ns;
	struct report_costs costs,
		recent_costs; /* since the start; in the last half minute to minute */
	bool memory;          /* retained native memory is known: the builtin engine samples it */
	int log;              /* enum log_level */
	char group[512], tags[4096];
};

struct live_option {
	const char *name; /* name in the option table, without prefix */
	const char *value;
};

struct live_call {
	enum live_request request;
	int fd; /* the client's; unused for requests before BEGIN */
	_Atomic bool *
		full; /* for BEGIN; the client's flag until END or CANCEL, set when the capture is full */
	/* For BEGIN: finish the current chunks first. Samples counted so far, as of a sleeping thread, become a separate
	 * event from later samples. */
	bool finishes_chunks;
	/* For OPTIONS; and for BEGIN: temporary intervals, until the capture ends, and at most until UNTIL_NS (monotonic
	 * clock). If an engine cannot change its intervals, BEGIN succeeds and PROBLEM has the reason. */
	struct live_option options[LIVE_OPTIONS_MAX];
	size_t option_count;
	uint64_t until_ns;

	/* The answer. */
	int err;
	char problem[LIVE_PROBLEM_MAX];
	struct live_status status;
};

struct live {
	_Atomic uint32_t state; /* enum state of live.c; a futex */
	struct wake *agent;
	struct live_call *call;
};

/* Interface of the live endpoint. All calls are made on the agent thread. */
struct live_endpoint {
	/* Start to listen as configured, after the session has started. LIVE is valid until close(). Errors are
	 * logged. */
	void (*open)(struct live *live, const struct config *config);

	/* Stop the endpoint; there are no more requests. */
	void (*close)(struct live *live);
};

/* Send CALL and wait for the answer, on the endpoint's thread. Returns call->err, or -ECANCELED when the endpoint
 * ends. The wait is limited only by the agent's own work, which includes no upload. */
int live_send(struct live *live, struct live_call *call);

/* On the agent thread: return the request that waits for an answer, or NULL; and mark it as answered. */
struct live_call *live_get_pending(struct live *live);
void live_complete(struct live *live);

/* Open the mailbox, and close it. After live_cancel() requests get -ECANCELED. */
void live_open(struct live *live, struct wake *agent);
void live_cancel(struct live *live);

#endif
