/* Check for a sandbox that has removed the program's access to files. */
#ifndef CORE_AGENT_FILES_REMOVED_H
#define CORE_AGENT_FILES_REMOVED_H

#include <stdbool.h>

/* True if the root directory is one in /proc, of a process that has ended or is about to end. Sandboxes use this to
 * remove access to files. Then a missing file is intended by the program, not an error. Agent's side, any thread;
 * errno changes. */
bool files_are_removed(void);

#endif
