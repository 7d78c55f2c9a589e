/* Any bytes as a zip with recordings and a metadata.json. */
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fd.h"
#include "decoder/input/unzip.h"
#include "decoder/output/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct source *source = NULL, *next;

	message_disabled = true;
	if (fd < 0)
		return 0;
	if (size && !fd_write(fd, data, size, 0) && !source_create(&source, "fuzz.zip", fd))
		unzip_recordings(&source);
	close(fd);
	for (; source; source = next) {
		next = source->next;
		source_load(source);
		source_close(source);
	}
	return 0;
}
