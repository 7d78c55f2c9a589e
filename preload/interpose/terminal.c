/* Interposes ioctl(2), and the C library's functions for terminals that wait in such calls: a signal ends them with
 * EINTR, even with SA_RESTART. */
#include <sys/ioctl.h>
#include <termios.h>

#include "preload/interpose/real.h"
#include "preload/interpose/restart.h"

/* By the calling conventions of Linux the third argument is where that of a variadic function is. */
EXPORT int any_ioctl(int fd, unsigned long request, void *argument) __asm__("ioctl");

EXPORT int any_ioctl(int fd, unsigned long request, void *argument)
{
	return RESTART_SAME(REAL(ioctl)(fd, request, argument));
}

EXPORT int tcdrain(int fd)
{
	return RESTART_SAME(REAL(tcdrain)(fd));
}

EXPORT int tcsendbreak(int fd, int duration)
{
	return RESTART_SAME(REAL(tcsendbreak)(fd, duration));
}

EXPORT int tcsetattr(int fd, int when, const struct termios *settings)
{
	return RESTART_SAME(REAL(tcsetattr)(fd, when, settings));
}
