/* Choice of the reporters that a config asks for. */
#ifndef IMAGE_REPORTERS_H
#define IMAGE_REPORTERS_H

#include "core/options/config.h"
#include "core/agent/report.h"

/* Copy the variables of ENVIRONMENT that the reporters need; later the program may change it. Returns 0 or -ENOMEM. */
int reporters_capture(const struct config *config, char *const *environment);

/* Open one reporter that forwards to all reporters of CONFIG (release with its close()). A reporter that cannot be opened
 * is left out. Returns 0, or -errno after a line in the log when none can be opened. */
int reporters_open(struct reporter **out, const struct config *config);

#endif
