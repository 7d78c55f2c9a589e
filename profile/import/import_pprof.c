/* Import of profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto), unpacked.
 *
 * The tables are indexed first, because samples precede them in files of some writers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/array.h"
#include "profile/encode/proto_read.h"
#include "profile/import/import_formats.h"
#include "profile/import/import_memory.h"

/* Field numbers of Profile. */
enum {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_LAST = 16,
};

#define COLUMNS_MAX 64

/* Meaning of a column of values. */
enum role {
	ROLE_NONE,
	ROLE_CPU_COUNT,
	ROLE_CPU_NS,
	ROLE_WALL_COUNT,
	ROLE_WALL_NS,
	ROLE_ALLOC_COUNT,
	ROLE_ALLOC_BYTES,
	ROLE_LIVE_COUNT,
	ROLE_LIVE_BYTES,
	ROLES
};

static const struct {
	const char *type, *unit; /* unit NULL: any */
	enum role role;
} roles[] = {
	{ "cpu", "nanoseconds", ROLE_CPU_NS },        { "samples", NULL, ROLE_CPU_COUNT },
	{ "sample", NULL, ROLE_CPU_COUNT },           { "wall_samples", NULL, ROLE_WALL_COUNT },
	{ "wall", "nanoseconds", ROLE_WALL_NS },      { "alloc_objects", NULL, ROLE_ALLOC_COUNT },
	{ "alloc_space", "bytes", ROLE_ALLOC_BYTES }, { "inuse_objects", NULL, ROLE_LIVE_COUNT },
	{ "inuse_space", "bytes", ROLE_LIVE_BYTES },  { "objects", NULL, ROLE_LIVE_COUNT },
	{ "space", "bytes", ROLE_LIVE_BYTES },
};

/* Numbers of a row: fields 1 to 5. */
#define ROW_NUMBERS 6

/* A row of a table, by its ID in the file. */
struct row {
	struct proto_reader message;
	uint64_t numbers[ROW_NUMBERS];
	uint32_t frames[2]; /* location: first and last + 1 in pprof.frames; 0: not read yet */
};

/* A table whose IDs are any numbers. */
struct table {
	struct intern ids;
	struct row *rows; /* by ID in ids */
	uint32_t capacity;
};

struct pprof_input {
	struct import_input *input;
	struct import_writer *w;
	struct import_text *strings;
	uint32_t string_count, string_capacity;
	struct table mappings, locations, functions;
	uint32_t *frames; /* frame IDs of all locations that were used */
	uint32_t frame_count, frame_capacity;
	enum role columns[COLUMNS_MAX];
	uint32_t column_count;
	bool has_role[ROLES];
	int64_t time_ns;
	uint64_t duration_ns, period;
	struct proto_reader period_type;
	struct buf labels;
	struct import_memory memory;
};

/* Reader of a message; of a number, which a damaged file may have instead, an empty one. */
static struct proto_reader reader_of(const struct proto_field *field)
{
	if (!field->data)
		return (struct proto_reader){ 0 };
	return (struct proto_reader){ field->data, field->data + field->length };
}

bool import_pprof_matches(const uint8_t *data, size_t length)
{
	struct proto_reader reader = { data, data + length };
	struct proto_field field;
	bool has_type = false, has_string = false;

	while (proto_next(&reader, &field)) {
		if (field.number > PROFILE_LAST || (field.number <= PROFILE_STRING && !field.data))
			return false;
		has_type |= field.number == PROFILE_TYPE;
		has_string |= field.number == PROFILE_STRING;
	}
	return reader.at == reader.end && has_type && has_string;
}

static int add_string(struct pprof_input *p, const struct proto_field *field)
{
	struct import_text text = { (const char *)field->data, field->length };

	if (array_reserve(&p->strings, &p->string_capacity, p->string_count, sizeof(text)))
		return -ENOMEM;
	p->strings[p->string_count++] = text;
	return 0;
}

static struct import_text string_at(const struct pprof_input *p, uint64_t index)
{
	return index < p->string_count ? p->strings[index] : (struct import_text){ "", 0 };
}

static bool text_equals(const struct import_text *text, const char *other)
{
	return text->length == strlen(other) && !memcmp(text->text, other, text->length);
}

/* Returns the number in field NUMBER of the message, 0 by default. */
static uint64_t message_number(struct proto_reader message, unsigned number)
{
	struct proto_field field;
	uint64_t value = 0;

	while (proto_next(&message, &field))
		if (field.number == number && !field.data)
			value = field.value;
	return value;
}

/* Add a row by its ID, field 1. Its numbers are read once, as many others may refer to it. */
static int add_row(struct table *table, const struct proto_field *from)
{
	struct row row = { .message = reader_of(from) };
	struct proto_reader message = row.message;
	struct proto_field field;
	uint32_t id;

	while (proto_next(&message, &field))
		if (field.number < ROW_NUMBERS && !field.data)
			row.numbers[field.number] = field.value;
	id = intern(&table->ids, &row.numbers[1], sizeof(row.numbers[1]));
	if (!id || array_reserve(&table->rows, &table->capacity, id, sizeof(row)))
		return -ENOMEM;
	table->rows[id] = row;
	return 0;
}

static struct row *find_row(struct table *table, uint64_t key)
{
	uint32_t before = table->ids.count, id = intern(&table->ids, &key, sizeof(key));

	/* An unknown ID becomes an empty row. */
	if (id && table->ids.count != before) {
		if (array_reserve(&table->rows, &table->capacity, id, sizeof(*table->rows)))
			return NULL;
		table->rows[id] = (struct row){ 0 };
	}
	return id ? &table->rows[id] : NULL;
}

static void free_table(struct table *table)
{
	intern_free(&table->ids);
	free(table->rows);
}

static int read_tables(struct pprof_input *p)
{
	struct proto_reader reader = { p->input->data, p->input->data + p->input->length };
	struct proto_field field;
	int err = 0;

	while (!err && proto_next(&reader, &field)) {
		if (field.number == PROFILE_STRING)
			err = add_string(p, &field);
		else if (field.number == PROFILE_MAPPING)
			err = add_row(&p->mappings, &field);
		else if (field.number == PROFILE_LOCATION)
			err = add_row(&p->locations, &field);
		else if (field.number == PROFILE_FUNCTION)
			err = add_row(&p->functions, &field);
		else if (field.number == PROFILE_TIME && (int64_t)field.value > 0)
			p->time_ns = (int64_t)field.value;
		else if (field.number == PROFILE_DURATION)
			p->duration_ns = field.value;
		else if (field.number == PROFILE_PERIOD)
			p->period = field.value;
		else if (field.number == PROFILE_PERIOD_TYPE)
			p->period_type = reader_of(&field);
	}
	return err;
}

static enum role find_role(const struct import_text *type, const struct import_text *unit)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		if (text_equals(type, roles[i].type) &&
		    (!roles[i].unit || text_equals(unit, roles[i].unit)))
			return roles[i].role;
	return ROLE_NONE;
}

static void read_types(struct pprof_input *p)
{
	struct proto_reader reader = { p->input->data, p->input->data + p->input->length };
	struct proto_field field;

	while (proto_next(&reader, &field) && p->column_count < COLUMNS_MAX) {
		struct import_text name, of;

		if (field.number != PROFILE_TYPE)
			continue;
		name = string_at(p, message_number(reader_of(&field), 1));
		of = string_at(p, message_number(reader_of(&field), 2));
		p->columns[p->column_count] = find_role(&name, &of);
		p->has_role[p->columns[p->column_count++]] = true;
	}
	/* A profile of the wall clock alone has "samples" too. */
	if (p->has_role[ROLE_WALL_NS] && !p->has_role[ROLE_CPU_NS] && !p->has_role[ROLE_WALL_COUNT])
		for (uint32_t i = 0; i < p->column_count; i++)
			if (p->columns[i] == ROLE_CPU_COUNT)
				p->columns[i] = ROLE_WALL_COUNT;
	/* If no column is known, the first one counts. */
	for (int role = ROLE_NONE + 1; role < ROLES; role++)
		if (p->has_role[role])
			return;
	p->columns[0] = ROLE_CPU_COUNT;
}

static uint32_t add_frame(struct pprof_input *p, struct proto_reader line,
			  const struct import_text *library)
{
	const struct row *function = find_row(&p->functions, message_number(line, 1));
	struct import_frame frame = { .type = JFR_FRAME_NATIVE };
	struct import_text file;

	if (!function)
		return 0;
	frame.line = (uint32_t)message_number(line, 2);
	frame.name = string_at(p, function->numbers[2]);
	if (!frame.name.length)
		frame.name = string_at(p, function->numbers[3]);
	file = string_at(p, function->numbers[4]);
	frame.module = library->length ? *library : file;
	return import_frame_id(p->w, &frame);
}

static int append_frame(struct pprof_input *p, uint32_t id)
{
	if (array_reserve(&p->frames, &p->frame_capacity, p->frame_count, sizeof(id)))
		return -ENOMEM;
	p->frames[p->frame_count++] = id;
	return 0;
}

/* Read a location's frames: its lines, innermost first; without lines, a frame of its library. */
static int read_location(struct pprof_input *p, struct row *location)
{
	struct proto_reader message = location->message;
	const struct row *mapping = find_row(&p->mappings, location->numbers[2]);
	struct import_text library = { "", 0 };
	struct import_frame unknown = { .name = { "[unknown]", 9 }, .type = JFR_FRAME_NATIVE };
	uint32_t first = p->frame_count;
	struct proto_field field;
	int err = 0;

	if (mapping && import_take_size(p->w, string_at(p, mapping->numbers[5]).length))
		library = import_file_name(string_at(p, mapping->numbers[5]));
	while (!err && proto_next(&message, &field))
		if (field.number == 4 && field.data)
			err = append_frame(p, add_frame(p, reader_of(&field), &library));
	if (!err && p->frame_count == first) {
		unknown.module = library;
		err = append_frame(p, import_frame_id(p->w, &unknown));
	}
	location->frames[0] = first;
	location->frames[1] = p->frame_count;
	return err;
}

static int add_location(struct pprof_input *p, uint64_t key)
{
	struct row *location = find_row(&p->locations, key);
	int err = 0;

	if (!location)
		return -ENOMEM;
	if (!location->frames[1])
		err = read_location(p, location);
	for (uint32_t i = location->frames[0];
	     !err && i < location->frames[1] && import_stack_has_space(p->w); i++)
		import_stack_add_id(p->w, p->frames[i]);
	return err;
}

/* The thread that our own profiles name "[NAME tid=ID]", or "thread" and "tid" of others. Other
 * labels are the context. */
static void read_label(struct pprof_input *p, struct import_sample *s, struct proto_reader label)
{
	struct import_text key = string_at(p, message_number(label, 1)),
			   text = string_at(p, message_number(label, 2));
	uint64_t number = message_number(label, 3);
	size_t length = p->labels.length;

	if (!import_take_size(p->w, key.length + text.length))
		return;
	if (text_equals(&key, "thread") && text.length) {
		import_read_thread(s, text.text, text.length);
	} else if (text_equals(&key, "tid") && number && number <= INT32_MAX) {
		s->tid = (uint32_t)number;
	} else if (key.length && text.length && !memchr(key.text, '\n', key.length) &&
		   !memchr(key.text, '=', key.length) && !memchr(text.text, '\n', text.length)) {
		if (buf_append(&p->labels, key.text, key.length) ||
		    buf_append(&p->labels, "=", 1) ||
		    buf_append(&p->labels, text.text, text.length) ||
		    buf_append(&p->labels, "\n", 1))
			p->labels.length = length; /* too long */
	}
}

/* Read the values of the columns, packed or not. */
static void read_value(const struct pprof_input *p, uint64_t values[ROLES], uint32_t *column,
		       uint64_t value)
{
	if (*column < p->column_count)
		values[p->columns[(*column)]] = (int64_t)value > 0 ? value : 0;
	++*column;
}

static void read_values(const struct pprof_input *p, uint64_t values[ROLES], uint32_t *column,
			const struct proto_field *field)
{
	struct proto_reader packed = reader_of(field);
	uint64_t value;

	if (!field->data)
		read_value(p, values, column, field->value);
	else
		while (proto_next_packed(&packed, &value))
			read_value(p, values, column, value);
}

/* Add up the values of all samples. */
static void sum_values(const struct pprof_input *p, double sums[ROLES])
{
	struct proto_reader reader = { p->input->data, p->input->data + p->input->length };
	struct proto_field sample, field;

	while (proto_next(&reader, &sample)) {
		struct proto_reader message = reader_of(&sample);
		uint64_t values[ROLES] = { 0 };
		uint32_t column = 0;

		while (sample.number == PROFILE_SAMPLE && proto_next(&message, &field))
			if (field.number == 2)
				read_values(p, values, &column, &field);
		for (unsigned role = 0; role < ROLES; role++)
			sums[role] += (double)values[role];
	}
}

/* Returns the sampling interval of "cpu" or "wall": the period if it is of TYPE, else the mean time of a sample; 0 if
 * it is unknown. */
static uint64_t find_interval(const struct pprof_input *p, const char *type, double count,
			      double ns)
{
	struct import_text of = string_at(p, message_number(p->period_type, 1)),
			   unit = string_at(p, message_number(p->period_type, 2));

	if (text_equals(&of, type) && text_equals(&unit, "nanoseconds") && p->period &&
	    p->period < INT64_MAX)
		return p->period;
	return count > 0 && ns / count < 1e18 ? (uint64_t)(ns / count + 0.5) : 0;
}

/* A file has one period, but may have CPU time and wall-clock time. */
static void set_intervals(const struct pprof_input *p)
{
	double sums[ROLES] = { 0 };

	sum_values(p, sums);
	import_writer_set_intervals(
		p->w, find_interval(p, "cpu", sums[ROLE_CPU_COUNT], sums[ROLE_CPU_NS]),
		find_interval(p, "wall", sums[ROLE_WALL_COUNT], sums[ROLE_WALL_NS]));
}

static int read_stack(struct pprof_input *p, const struct proto_field *field)
{
	struct proto_reader packed = reader_of(field);
	uint64_t key;
	int err = 0;

	if (!field->data)
		return add_location(p, field->value);
	while (!err && import_stack_has_space(p->w) && proto_next_packed(&packed, &key))
		err = add_location(p, key);
	return err;
}

/* Write COUNT samples, or as many as NS have periods. */
static int write_time(struct pprof_input *p, struct import_sample *s, enum import_kind kind,
		      uint64_t count, uint64_t ns)
{
	s->kind = kind;
	s->count = count ? count : p->period ? (ns + p->period / 2) / p->period : ns / 1000000;
	return s->count ? import_write_sample(p->w, s) : 0;
}

/* Add allocated and live memory. */
static int add_memory(struct pprof_input *p, const struct import_sample *s,
		      const uint64_t values[ROLES])
{
	const struct import_memory_values add = { .count = values[ROLE_ALLOC_COUNT],
						  .bytes = values[ROLE_ALLOC_BYTES],
						  .live_count = values[ROLE_LIVE_COUNT],
						  .live_bytes = values[ROLE_LIVE_BYTES] };

	return add.bytes || add.live_bytes ? import_memory_add(&p->memory, p->w, s, &add) : 0;
}

static int read_sample(struct pprof_input *p, const struct proto_field *message)
{
	struct import_sample s = { .time_ns = p->time_ns };
	struct proto_reader reader = reader_of(message);
	uint64_t values[ROLES] = { 0 };
	struct proto_field field;
	uint32_t column = 0;
	int err = 0;

	import_stack_begin(p->w);
	buf_reset(&p->labels);
	while (!err && proto_next(&reader, &field)) {
		if (field.number == 1)
			err = read_stack(p, &field);
		else if (field.number == 2)
			read_values(p, values, &column, &field);
		else if (field.number == 3 && field.data)
			read_label(p, &s, reader_of(&field));
	}
	if (err)
		return err;
	s.labels = (struct import_text){ (const char *)p->labels.data, p->labels.length };
	err = write_time(p, &s, IMPORT_CPU, values[ROLE_CPU_COUNT], values[ROLE_CPU_NS]);
	if (!err)
		err = write_time(p, &s, IMPORT_WALL, values[ROLE_WALL_COUNT], values[ROLE_WALL_NS]);
	if (!err)
		err = add_memory(p, &s, values);
	return err == -ERANGE ? import_reject(p->input, message->data, IMPORT_TOO_LARGE) : err;
}

int import_pprof_read(struct import_input *input, struct import_writer *w)
{
	struct proto_reader reader = { input->data, input->data + input->length };
	struct pprof_input p = {
		.input = input, .w = w, .time_ns = input->time_ns, .labels = BUF_INIT(1u << 16)
	};
	struct proto_field field;
	int err = read_tables(&p);

	if (!err) {
		read_types(&p);
		set_intervals(&p);
	}
	while (!err && !w->err && proto_next(&reader, &field))
		if (field.number == PROFILE_SAMPLE)
			err = read_sample(&p, &field);
	if (!err && import_memory_write(&p.memory, w, p.time_ns))
		err = import_reject(input, input->data, IMPORT_TOO_LARGE);
	import_writer_set_duration(w, p.duration_ns);
	if (err == -ENOMEM && !w->err)
		w->err = err;
	import_memory_free(&p.memory);
	free(p.strings);
	free(p.frames);
	free_table(&p.mappings);
	free_table(&p.locations);
	free_table(&p.functions);
	buf_free(&p.labels);
	return err;
}
