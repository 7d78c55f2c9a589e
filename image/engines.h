/* Choice of the engines that a config asks for. */
#ifndef IMAGE_ENGINES_H
#define IMAGE_ENGINES_H

#include "core/agent/equipment.h"
#include "core/options/config.h"
#include "core/wake.h"

/* Set the engines of EQUIPMENT. An engine wakes the agent's thread by WAKE. Called on the agent's thread. Returns 0, or
 * -errno after a line in the log. */
int engines_open(struct agent_equipment *equipment, const struct config *config, struct wake *wake);

#endif
