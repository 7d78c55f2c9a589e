/* States of the agent thread and of a setting request, in shared->agent. */
#ifndef CORE_AGENT_PHASE_H
#define CORE_AGENT_PHASE_H

enum agent_phase {
	AGENT_NONE,    /* no thread, or one that does nothing any more */
	AGENT_DELAYED, /* the start delay runs; the thread has done nothing yet */
	AGENT_STARTING,
	AGENT_RUNNING, /* also during a pause */
};

/* State of a setting request by a thread of the program. */
enum agent_setting {
	SETTING_NONE,
	SETTING_TAKEN,    /* a thread writes the request, or reads the answer */
	SETTING_ASKED,    /* the agent thread has not read it yet */
	SETTING_BUSY,     /* the agent thread processes it */
	SETTING_ANSWERED, /* the result is in err */
};

/* Additional flag in the word of the phase: the thread must end. */
#define AGENT_STOP 0x100u

#endif
