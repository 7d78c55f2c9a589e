/* Any bytes as another profiler's file: what is converted can be read. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/aggregate/memory_feed.h"
#include "profile/aggregate/profile.h"
#include "profile/import/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_recording(int fd, size_t length)
{
	struct query query = { .weighted = true, .jobs = 1, .contexts = true };
	struct profile profile = PROFILE_INIT;
	struct memory_feed feed;
	void *map = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED)
		return;
	memory_feed_init(&feed, map, length);
	if (profile_read(&profile, &query, &feed.feed, ~0u))
		abort(); /* the conversion made a damaged recording */
	profile_free(&profile);
	munmap(map, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct import_format *format = import_find_format(data, size);
	struct import_problem problem = { 0 };
	int fd, err;

	if (!format)
		return 0;
	fd = memfd_create("import", MFD_CLOEXEC);
	err = import_convert(format, data, size, fd, 1700000000000000000, &problem);
	if (!err)
		read_recording(fd, (size_t)lseek(fd, 0, SEEK_END));
	else if (problem.what && problem.offset > size)
		abort();
	close(fd);
	return 0;
}
