/* Server of the live endpoint: one own thread that handles requests in turn and never blocks on a peer. */
#ifndef ENDPOINT_SERVER_H
#define ENDPOINT_SERVER_H

#include "core/agent/live.h"

/* For struct agent_equipment. */
extern const struct live_endpoint live_endpoint;

#endif
