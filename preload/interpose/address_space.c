/* Interposes the calls by which a program limits or locks its address space, which includes the agent's region. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "core/agent/async_profiler.h"
#include "core/memory/region.h"
#include "core/system.h"
#include "preload/interpose/real.h"

static void address_space_limited(unsigned int resource, const struct rlimit *limit)
{
	if (resource == RLIMIT_AS && limit && limit->rlim_cur != RLIM_INFINITY &&
	    region_is_here()) {
		async_profiler_release_addresses();
		region_limit(limit->rlim_cur);
	}
}

/* With RLIMIT_MEMLOCK the kernel refuses the call if the whole address space is larger. */
EXPORT int mlockall(int flags)
{
	int result;

	async_profiler_release_addresses();
	result = REAL(mlockall)(flags);
	if (result && errno == ENOMEM && (flags & MCL_CURRENT)) {
		size_t bytes = region_cut(0);

		if (bytes)
			result = REAL(mlockall)(flags);
		region_restore(bytes);
	}
	if (!result)
		region_unlock();
	return result;
}

EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	int result = REAL(setrlimit)(resource, limit);

	if (!result)
		address_space_limited(resource, limit);
	return result;
}

EXPORT int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *limit,
		   struct rlimit *old)
{
	int result = REAL(prlimit)(pid, resource, limit, old);

	if (!result && (!pid || pid == system_process()))
		address_space_limited(resource, limit);
	return result;
}

EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
	__attribute__((alias("setrlimit")));
EXPORT int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *limit,
		     struct rlimit64 *old) __attribute__((alias("prlimit")));
