/* Files of other profilers, converted to recordings. */
#include "decoder/input/import_source.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "decoder/output/message.h"
#include "decoder/output/temp_file.h"
#include "profile/import/import.h"

static bool is_recording(const struct source *source)
{
	return source->length >= 4 && !memcmp(source->data, "FLR", 4);
}

int import_source(struct source **source, int64_t time_ns)
{
	struct source *original = *source;
	const struct import_format *format =
		is_recording(original) ? NULL
				       : import_find_format(original->data, original->length);
	struct import_problem problem = { 0 };
	int fd, err;

	if (!format)
		return 0;
	*source = NULL;
	fd = temp_file_create();
	err = fd < 0 ? -errno
		     : import_convert(format, original->data, original->length, fd, time_ns,
				      &problem);
	if (!err)
		err = source_create(source, original->name, fd);
	if (err == -EBADMSG)
		message_print("%s: offset %" PRIu64 ": damaged %s: %s", original->name,
			      problem.offset, import_format_name(format), problem.what);
	else if (err)
		message_print("%s: %s", original->name, strerror(-err));
	if (fd >= 0)
		close(fd);
	source_close(original);
	return err;
}
