/* Which engines a config asks for. */
#ifndef IMAGE_ENGINES_H
#define IMAGE_ENGINES_H

#include "core/agent/equipment.h"
#include "core/options/config.h"
#include "core/wake.h"

/* Fill in the engines of EQUIPMENT; one that needs waking is given WAKE. On the agent thread. Returns
 * 0, or -errno after a line in the log. */
int engines_open(struct agent_equipment *equipment, const struct config *config, struct wake *wake);

#endif
