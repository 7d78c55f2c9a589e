/* How many threads the process has, as the kernel counts them. */
#include "engine/process/thread_count.h"

#include "core/system.h"

/* The directory's link count is the number of threads and two. */
bool thread_count_is(size_t count)
{
	struct stat st;

	return !kernel_call4(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/task", (long)&st, 0) &&
	       st.st_nlink == count + 2;
}
