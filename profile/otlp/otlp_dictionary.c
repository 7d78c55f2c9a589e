/* Writer of one OTLP profiles message: the dictionary. */
#include "profile/otlp/otlp_dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregate/frame_address.h"
#include "profile/basics/names.h"
#include "profile/encode/proto.h"

/* Maximum size of an entry: a name, or a stack. */
#define ENTRY_MAX (1u << 20)

void otlp_init(struct otlp *out, const struct otlp_message *message)
{
	*out = (struct otlp){ .message = message };
	out->locations =
		calloc((size_t)message->profile->frames.count + 1, sizeof(*out->locations));
	if (!out->locations)
		out->err = -ENOMEM;
}

int otlp_close(struct otlp *out)
{
	for (int table = 0; table < OTLP_TABLES; table++)
		intern_free(&out->tables[table]);
	free(out->locations);
	return out->err;
}

void otlp_set_error(struct otlp *out, int err)
{
	if (err && !out->err)
		out->err = err;
}

/* Returns the index of ENTRY in TABLE. Releases ENTRY. */
static int64_t otlp_add_entry(struct otlp *out, enum otlp_table table, struct buf *entry)
{
	uint32_t id = intern(&out->tables[table], entry->data ? entry->data : (uint8_t *)"",
			     entry->length);

	if (!id)
		otlp_set_error(out, -ENOMEM);
	buf_free(entry);
	return id;
}

int64_t otlp_add_string(struct otlp *out, const char *text)
{
	uint32_t id = *text ? names_intern(&out->tables[OTLP_STRINGS], text) : 0;

	if (*text && !id)
		otlp_set_error(out, -ENOMEM);
	return id;
}

void otlp_append_any_value(struct otlp *out, struct buf *to, const char *text, int64_t number)
{
	struct buf any = BUF_INIT(ENTRY_MAX);

	/* A member of a oneof is written even if it is 0. */
	if (text) {
		otlp_set_error(out, proto_string(&any, 1, text));
	} else {
		otlp_set_error(out, proto_varint(&any, 3 << 3));
		otlp_set_error(out, proto_varint(&any, (uint64_t)number));
	}
	otlp_set_error(out, proto_message(to, 2, &any));
	buf_free(&any);
}

int64_t otlp_add_attribute(struct otlp *out, const char *key, const char *text, int64_t number)
{
	struct buf entry = BUF_INIT(ENTRY_MAX);

	otlp_set_error(out, proto_int(&entry, 1, otlp_add_string(out, key)));
	otlp_append_any_value(out, &entry, text, number);
	return otlp_add_entry(out, OTLP_ATTRIBUTES, &entry);
}

int64_t otlp_add_link(struct otlp *out, const uint8_t trace_id[16], const uint8_t span_id[8])
{
	struct buf entry = BUF_INIT(64);

	otlp_set_error(out, proto_bytes(&entry, 1, trace_id, 16));
	otlp_set_error(out, proto_bytes(&entry, 2, span_id, 8));
	return otlp_add_entry(out, OTLP_LINKS, &entry);
}

void otlp_append_int(struct otlp *out, struct buf *to, unsigned field, int64_t value)
{
	otlp_set_error(out, proto_int(to, field, value));
}

/* Append VALUE as a packed list of one number. */
static void otlp_append_packed_int(struct otlp *out, struct buf *to, unsigned field, int64_t value)
{
	struct buf packed = BUF_INIT(16);

	otlp_set_error(out, proto_varint(&packed, (uint64_t)value));
	otlp_set_error(out, proto_message(to, field, &packed));
	buf_free(&packed);
}

static const char *otlp_name(const struct otlp *out, uint32_t id)
{
	return intern_text(&out->message->profile->names, id);
}

static int64_t otlp_add_mapping(struct otlp *out, const struct frame *frame)
{
	const struct library *library = frame_library(
		out->message->profile, out->message->libraries, frame->module, frame->build_id);
	const struct intern *names = &out->message->libraries->names;
	const char *name = otlp_name(out, frame->module),
		   *build_id = otlp_name(out, frame->build_id);
	struct buf entry = BUF_INIT(ENTRY_MAX);

	if (!frame_is_in_mapped_file(frame))
		return 0;
	if (library) {
		name = intern_text(names, library->path);
		build_id = intern_text(names, library->build_id);
		otlp_append_int(out, &entry, 1, (int64_t)library->base);
		otlp_append_int(out, &entry, 2, (int64_t)library->top);
		otlp_append_int(out, &entry, 3, (int64_t)library->file_offset);
	}
	otlp_append_int(out, &entry, 4, otlp_add_string(out, name));
	if (*build_id)
		otlp_append_packed_int(
			out, &entry, 5,
			otlp_add_attribute(out, "process.executable.build_id.gnu", build_id, 0));
	return otlp_add_entry(out, OTLP_MAPPINGS, &entry);
}

static int64_t otlp_add_function(struct otlp *out, const struct frame *frame)
{
	int64_t name =
		otlp_add_string(out, frame->name ? otlp_name(out, frame->name) : "[no stack]");
	struct buf entry = BUF_INIT(ENTRY_MAX);

	otlp_append_int(out, &entry, 1, name);
	otlp_append_int(out, &entry, 2, name);
	otlp_append_int(
		out, &entry, 3,
		otlp_add_string(out, otlp_name(out, frame->file ? frame->file : frame->module)));
	return otlp_add_entry(out, OTLP_FUNCTIONS, &entry);
}

static void otlp_append_line(struct otlp *out, struct buf *location, const struct frame *frame)
{
	struct buf line = BUF_INIT(64);

	otlp_append_int(out, &line, 1, otlp_add_function(out, frame));
	otlp_append_int(out, &line, 2, frame->line);
	otlp_set_error(out, proto_message(location, 3, &line));
	buf_free(&line);
}

/* Add the location of FRAME and the frames that it is inlined into, innermost first. */
static int64_t otlp_add_location(struct otlp *out, const struct frame *frame)
{
	const struct profile *profile = out->message->profile;
	struct buf entry = BUF_INIT(ENTRY_MAX);
	const struct frame *line = frame;

	otlp_append_int(out, &entry, 1, otlp_add_mapping(out, frame));
	otlp_append_int(out, &entry, 2,
			(int64_t)frame_address(profile, out->message->libraries, frame));
	for (otlp_append_line(out, &entry, line); line->caller; otlp_append_line(out, &entry, line))
		line = profile_frame(profile, line->caller);
	if (frame_is_in_mapped_file(frame))
		otlp_append_packed_int(
			out, &entry, 4,
			otlp_add_attribute(out, "profile.frame.type",
					   frame->type == JFR_FRAME_KERNEL ? "kernel" : "native",
					   0));
	return otlp_add_entry(out, OTLP_LOCATIONS, &entry);
}

/* Returns the location of FRAME, which is added if it is new. FRAME 0: a sample without a stack. */
static uint64_t otlp_get_location(struct otlp *out, uint32_t frame)
{
	if (!out->locations)
		return 0;
	if (!out->locations[frame])
		out->locations[frame] = (uint32_t)otlp_add_location(
			out, profile_frame(out->message->profile, frame));
	return out->locations[frame];
}

int64_t otlp_add_stack(struct otlp *out, uint32_t stack)
{
	const struct profile *profile = out->message->profile;
	const uint32_t *frames = intern_key(&profile->stacks, stack);
	uint32_t depth = intern_length(&profile->stacks, stack) / sizeof(*frames);
	struct buf packed = BUF_INIT(ENTRY_MAX), entry = BUF_INIT(ENTRY_MAX);

	if (!depth)
		otlp_set_error(out, proto_varint(&packed, otlp_get_location(out, 0)));
	/* The location of an inlined frame includes its callers. */
	for (uint32_t i = 0; i < depth; i++)
		if (!i || profile_frame(profile, frames[i - 1])->caller != frames[i])
			otlp_set_error(out,
				       proto_varint(&packed, otlp_get_location(out, frames[i])));
	otlp_set_error(out, proto_message(&entry, 1, &packed));
	buf_free(&packed);
	return otlp_add_entry(out, OTLP_STACKS, &entry);
}

/* Append the zero value of TABLE. The IDs of the zero link have full length, as some readers check
 * the number of bytes. */
static void otlp_append_zero_entry(struct otlp *out, struct buf *to, enum otlp_table table)
{
	static const uint8_t zeroes[16];
	struct buf entry = BUF_INIT(64);

	if (table == OTLP_LINKS) {
		otlp_set_error(out, proto_bytes(&entry, 1, zeroes, 16));
		otlp_set_error(out, proto_bytes(&entry, 2, zeroes, 8));
	}
	otlp_set_error(out, proto_message(to, table, &entry));
	buf_free(&entry);
}

void otlp_append_dictionary(struct otlp *out, struct buf *to)
{
	for (enum otlp_table table = OTLP_MAPPINGS; table < OTLP_TABLES; table++) {
		const struct intern *entries = &out->tables[table];

		otlp_append_zero_entry(out, to, table);
		for (uint32_t id = 1; id <= entries->count && !out->err; id++)
			otlp_set_error(out, proto_bytes(to, table, intern_key(entries, id),
							intern_length(entries, id)));
	}
}
