/* Writer of one profile.proto: messages and the string table. */
#include "profile/pprof/pprof.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/basics/names.h"
#include "profile/encode/proto.h"

int pprof_open(struct pprof *out, FILE *file, struct buf *buf, const struct profile *profile,
	       const struct libraries *libraries)
{
	struct gzip *gzip = NULL;
	int err = gzip_open(&gzip, file, buf);

	*out = (struct pprof){
		.profile = profile,
		.libraries = libraries,
		.gzip = gzip,
		.message = BUF_INIT(64u << 20),
		.inner = BUF_INIT(64u << 20),
		.err = err,
	};
	pprof_add_string(out, "");
	return out->err;
}

int pprof_close(struct pprof *out)
{
	if (out->gzip)
		pprof_set_error(out, gzip_close(out->gzip));
	intern_free(&out->strings);
	intern_free(&out->mappings);
	intern_free(&out->functions);
	intern_free(&out->locations);
	intern_free(&out->label_keys);
	free(out->label_value_counts);
	buf_free(&out->message);
	buf_free(&out->inner);
	return out->err;
}

void pprof_set_error(struct pprof *out, int err)
{
	if (err && !out->err)
		out->err = err;
}

void pprof_append_int(struct pprof *out, struct buf *message, unsigned field, int64_t value)
{
	pprof_set_error(out, proto_int(message, field, value));
}

int64_t pprof_add_string(struct pprof *out, const char *text)
{
	uint32_t id = names_intern(&out->strings, text);

	if (!id)
		pprof_set_error(out, -ENOMEM);
	return (int64_t)id - 1;
}

void pprof_write_message(struct pprof *out, enum pprof_field field)
{
	struct buf whole = BUF_INIT(SIZE_MAX / 2);

	pprof_set_error(out, proto_message(&whole, field, &out->message));
	pprof_set_error(out, gzip_write(out->gzip, whole.data, whole.length));
	buf_free(&whole);
	buf_reset(&out->message);
}

void pprof_write_number(struct pprof *out, enum pprof_field field, int64_t number)
{
	buf_reset(&out->inner);
	pprof_append_int(out, &out->inner, field, number);
	pprof_set_error(out, gzip_write(out->gzip, out->inner.data, out->inner.length));
}

void pprof_write_strings(struct pprof *out)
{
	for (uint32_t id = 1; id <= out->strings.count && !out->err; id++) {
		pprof_set_error(out,
				buf_append_string(&out->message, intern_text(&out->strings, id)));
		pprof_write_message(out, PPROF_STRING);
	}
}
