/* How far the agent thread has come: what is in shared->agent.state. */
#ifndef CORE_AGENT_PHASE_H
#define CORE_AGENT_PHASE_H

enum agent_phase {
	AGENT_NONE,    /* no thread, or one that touches nothing any more */
	AGENT_DELAYED, /* the start delay is running; nothing was touched yet */
	AGENT_STARTING,
	AGENT_RUNNING, /* also while it is paused */
};

/* How far the setting is that a thread of the program asks for. */
enum agent_setting {
	SETTING_NONE,
	SETTING_TAKEN,    /* somebody writes what he asks for, or reads the answer */
	SETTING_ASKED,    /* the agent thread has not come to it */
	SETTING_BUSY,     /* the agent thread's */
	SETTING_ANSWERED, /* by err */
};

/* Beside a phase: the thread is to end. */
#define AGENT_STOP 0x100u

#endif
