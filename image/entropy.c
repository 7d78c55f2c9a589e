/* Entropy source for mbedTLS. It replaces mbedTLS's own, which calls getrandom(2) with glibc only and reads /dev/urandom
 * elsewhere; a container may have no /dev. (The linker prefers an object's symbol to an archive's.) */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/random.h>
#include <unistd.h>

#include <mbedtls/entropy.h>

#include "core/fd.h"

int mbedtls_platform_entropy_poll(void *data, unsigned char *output, size_t size, size_t *taken);

/* For kernels before 3.17, which have no getrandom(2). */
static ssize_t read_device(unsigned char *output, size_t size)
{
	int fd = fd_raise(open("/dev/urandom", O_RDONLY | O_CLOEXEC));
	ssize_t got;

	if (fd < 0)
		return fd;
	got = read(fd, output, size);
	close(fd);
	return got;
}

int mbedtls_platform_entropy_poll(void *data, unsigned char *output, size_t size, size_t *taken)
{
	ssize_t got;

	(void)data;
	do
		got = getrandom(output, size, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		got = read_device(output, size);
	*taken = got < 0 ? 0 : (size_t)got;
	return got < 0 ? MBEDTLS_ERR_ENTROPY_SOURCE_FAILED : 0;
}
