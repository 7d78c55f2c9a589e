/* Check for a sandbox that has removed the program's access to files. */
#include "core/agent/files_removed.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/vfs.h>

bool files_are_removed(void)
{
	struct statfs root;

	return statfs("/", &root) ? errno == ESRCH : root.f_type == PROC_SUPER_MAGIC;
}
