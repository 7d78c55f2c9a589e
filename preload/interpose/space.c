/* Interposes the calls that reserve space of a file. A signal ends them with EINTR where the file is in memory, and some
 * systems then undo what they have done: on huge pages, and before Linux 6.8 on tmpfs. So they are repeated without
 * samples. */
#include <errno.h>
#include <fcntl.h>

#include "preload/interpose/mask.h"
#include "preload/interpose/real.h"
#include "preload/interpose/restart.h"

#define FALLOCATE(name)                                                                \
	EXPORT int name(int fd, int mode, off_t offset, off_t length)                  \
	{                                                                              \
		return RESTART(REAL(name)(fd, mode, offset, length),                   \
			       WITHOUT_SAMPLES(REAL(name)(fd, mode, offset, length))); \
	}

/* These return an error's number. */
#define POSIX_FALLOCATE(name)                                                                \
	EXPORT int name(int fd, off_t offset, off_t length)                                  \
	{                                                                                    \
		return RESTART_WHILE(value_ == EINTR, false, REAL(name)(fd, offset, length), \
				     WITHOUT_SAMPLES(REAL(name)(fd, offset, length)));       \
	}

FALLOCATE(fallocate)
FALLOCATE(fallocate64)
POSIX_FALLOCATE(posix_fallocate)
POSIX_FALLOCATE(posix_fallocate64)
