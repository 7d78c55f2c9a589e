/* Any bytes as a page of a bucket's list; and its names as those of reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/bucket/listing.h"
#include "decoder/bucket/object_name.h"
#include "decoder/bucket/objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct objects objects;

static int take(void *arg, const struct listing_entry *object)
{
	struct object_name name;

	(void)arg;
	/* Pointers into the key stay in it. */
	if (object_name_parse(&name, object->key) &&
	    (name.group + name.group_length > object->key + strlen(object->key) ||
	     name.machine + name.machine_length > object->key + strlen(object->key) ||
	     name.seconds < 0))
		abort();
	return objects_add(&objects, object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct upload_filter picks[] = {
		{ .from = { MOMENT_OFFSET, -60000000000 } },
		{ .from = { MOMENT_DAY, 3600000000000 }, .to = { MOMENT_DAY, 60000000000 } },
		{ .to = { MOMENT_ABSOLUTE, 1795219200000000000 } },
	};
	struct listing page;
	int err;

	for (size_t i = 0; i < sizeof(picks) / sizeof(picks[0]); i++) {
		err = listing_read(&page, data, size, take, NULL);
		if ((err == -EBADMSG) != (page.problem != NULL) || page.offset > size)
			abort();
		objects_filter(&objects, &picks[i]);
		objects_free(&objects);
		free(page.token);
	}
	return 0;
}
