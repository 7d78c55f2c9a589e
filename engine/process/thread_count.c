/* Number of threads of the process, as the kernel counts them. */
#include "engine/process/thread_count.h"

#include "core/system.h"

/* The link count of the directory is the number of threads plus two. */
bool thread_count_is(size_t count)
{
	struct stat st;

	return !kernel_call4(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&st, 0) &&
	       st.st_nlink == count + 2;
}
