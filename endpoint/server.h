/* The live endpoint: a thread of ours that answers requests, one after another, and never waits for a peer. */
#ifndef ENDPOINT_SERVER_H
#define ENDPOINT_SERVER_H

#include "core/agent/live.h"

/* For struct agent_equipment. */
extern const struct live_endpoint live_endpoint;

#endif
