/* Which reporters a config asks for. */
#ifndef IMAGE_REPORTERS_H
#define IMAGE_REPORTERS_H

#include "core/options/config.h"
#include "core/agent/report.h"

/* Note what the reporters need of ENVIRONMENT: later the program may be
 * changing it. Returns 0 or -ENOMEM. */
int reporters_capture(const struct config *config, char *const *environment);

/* Open the one reporter that hands on to all that CONFIG asks for. Returns 0, or -errno after
 * a line in the log when there is none; one of two that cannot be had is done without. */
int reporters_open(struct reporter **out, const struct config *config);

#endif
