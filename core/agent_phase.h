/* How far the agent thread has come: what is in shared->agent.state. */
#ifndef CORE_AGENT_PHASE_H
#define CORE_AGENT_PHASE_H

enum agent_phase {
	AGENT_NONE,    /* no thread, or one that touches nothing any more */
	AGENT_DELAYED, /* the start delay is running; nothing was touched yet */
	AGENT_STARTING,
	AGENT_RUNNING, /* also while it is paused */
};

/* Beside a phase: the thread is to end. */
#define AGENT_STOP 0x100u

#endif
