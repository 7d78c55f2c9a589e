/* Unnamed temporary files. */
#include "decoder/output/temp_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

int temp_file_create(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("asprof-agent", MFD_CLOEXEC);
}
