/* States of threads by time, for the recording of another engine, whose wall-clock samples have no causes of waits. The
 * agent's thread looks at all threads at the wall-clock interval (engine/wait/wait_look.h), without
 * interrupting them. The label chunk has the log; readers join it to the samples by thread and time. Agent thread only. */
#ifndef ENGINE_COLLECT_WAIT_LOG_H
#define ENGINE_COLLECT_WAIT_LOG_H

#include <stdint.h>

#include "engine/jfr/jfr_write.h"

/* At most so many times of a thread in one state are kept until wait_log_forget(). Later ones are not logged. */
#define WAIT_LOG_ROWS_MAX 65536

/* Look at all threads if that is due at NOW_NS (monotonic), each INTERVAL_NS. Returns when it is due again. */
uint64_t wait_log_service(uint64_t now_ns, uint64_t interval_ns);

/* Write the log as asprof.ThreadState events of a chunk that begins at START_NS (wall clock) and START_TICKS, and whose
 * ticks are nanoseconds. */
void wait_log_write(struct jfr_writer *jfr, uint64_t start_ns, uint64_t start_ticks);

/* Drop what is logged, after a report. */
void wait_log_forget(void);

#endif
