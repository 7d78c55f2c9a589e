/* Log levels. */
#ifndef CORE_LOG_LEVEL_H
#define CORE_LOG_LEVEL_H

enum log_level { LOG_OFF, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

#endif
