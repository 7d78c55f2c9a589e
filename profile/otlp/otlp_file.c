/* Writer of an OTLP profiles file. Each thread has profiles of its own, of a limited number of
 * samples. The dictionary, which all of them refer to, is written last. */
#include "profile/otlp/otlp_file.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/text.h"
#include "profile/encode/proto.h"
#include "profile/otlp/otlp_parts.h"

#define SAMPLES_MAX  (1u << 16) /* in one profile */
#define MESSAGE_MAX  (1u << 28)
#define RESOURCE_MAX 64

struct otlp_file {
	FILE *file;
	struct timed_store *store;
	struct columns columns;
	struct otlp_message message;
	struct otlp out;
	uint64_t number; /* of the next profile */
};

static int compare_identity(const void *a, const void *b)
{
	const struct timed_sample *x = a, *y = b;

	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	if (x->context != y->context)
		return x->context < y->context ? -1 : 1;
	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static int64_t sample_value(const struct column *column, const struct timed_sample *s)
{
	double value = column->total ? s->total : s->count;

	return value < 9e18 ? (int64_t)(value + 0.5) : INT64_MAX;
}

/* Append one Sample: COUNT observations with the same stack and context. */
static void append_observations(struct otlp_file *f, struct buf *to, const struct column *column,
				const struct timed_sample *s, uint64_t count)
{
	struct buf sample = BUF_INIT(MESSAGE_MAX), packed = BUF_INIT(MESSAGE_MAX);
	const struct sample identity = { .thread = s->thread, .context = s->context };
	struct otlp *out = &f->out;

	otlp_append_int(out, &sample, 1, otlp_add_stack(out, s->stack));
	otlp_append_sample_attributes(out, &sample, &identity);
	for (uint64_t i = 0; i < count; i++)
		otlp_set_error(out, proto_varint(&packed, (uint64_t)sample_value(column, &s[i])));
	otlp_set_error(out, proto_message(&sample, 4, &packed));
	buf_reset(&packed);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t time = htole64((uint64_t)s[i].time_ns);

		otlp_set_error(out, buf_append(&packed, &time, sizeof(time)));
	}
	otlp_set_error(out, proto_message(&sample, 5, &packed));
	otlp_set_error(out, proto_message(to, 2, &sample));
	buf_free(&sample);
	buf_free(&packed);
}

static void append_period(struct otlp_file *f, struct buf *profile, const struct column *column)
{
	const char *type, *unit;
	int64_t period = column_period(&f->store->profile, column, &type, &unit);

	if (period <= 0)
		return;
	otlp_append_value_type(&f->out, profile, 5, type, unit);
	otlp_append_int(&f->out, profile, 6, period);
}

/* Write the samples from S on, which must be sorted by time, as one profile of COLUMN. */
static void write_profile(struct otlp_file *f, const struct column *column, struct timed_sample *s,
			  uint64_t count)
{
	struct buf profile = BUF_INIT(MESSAGE_MAX), scope = BUF_INIT(MESSAGE_MAX),
		   resource = BUF_INIT(MESSAGE_MAX), whole = BUF_INIT(MESSAGE_MAX);
	int64_t start = s[0].time_ns, end = s[count - 1].time_ns + 1;
	uint64_t id[OTLP_ID_SIZE / sizeof(uint64_t)] = { htole64((uint64_t)start),
							 htole64(++f->number) };
	struct otlp *out = &f->out;

	otlp_append_value_type(out, &profile, 1, column->type, column_unit(column));
	qsort(s, count, sizeof(*s), compare_identity);
	for (uint64_t from = 0, to; from < count; from = to) {
		for (to = from + 1;
		     to < count && s[to].stack == s[from].stack && s[to].context == s[from].context;
		     to++)
			;
		append_observations(f, &profile, column, &s[from], to - from);
	}
	otlp_set_error(out, proto_fixed64(&profile, 3, (uint64_t)start));
	otlp_append_int(out, &profile, 4, end - start);
	append_period(f, &profile, column);
	otlp_set_error(out, proto_bytes(&profile, 7, id, sizeof(id)));
	otlp_append_resource(out, &resource);
	otlp_append_scope(out, &scope);
	otlp_set_error(out, proto_message(&scope, 2, &profile));
	otlp_set_error(out, proto_message(&resource, 2, &scope));
	otlp_set_error(out, proto_message(&whole, 1, &resource));
	fwrite(whole.data, 1, whole.length, f->file);
	buf_free(&profile);
	buf_free(&scope);
	buf_free(&resource);
	buf_free(&whole);
}

static int compare_times(const void *a, const void *b)
{
	const struct timed_sample *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static void write_group(struct otlp_file *f, const struct timed_group *group)
{
	struct timed_sample *samples = f->store->samples;

	for (size_t i = 0; i < f->columns.count; i++) {
		const struct column *column = &f->columns.list[i];

		if (column->metric != group->metric || !otlp_column_is_wanted(&f->columns, column))
			continue;
		for (uint64_t from = group->from; from < group->to; from += SAMPLES_MAX) {
			uint64_t count = group->to - from;

			count = count < SAMPLES_MAX ? count : SAMPLES_MAX;
			qsort(&samples[from], count, sizeof(*samples), compare_times);
			write_profile(f, column, &samples[from], count);
		}
	}
}

/* Split LINES, the labels of a recording, in place, into attributes. Returns their number. */
static size_t labels_split(char *lines, struct otlp_attribute attributes[RESOURCE_MAX])
{
	static const struct {
		const char *key, *attribute;
	} names[] = { { "process", "process.name" },
		      { "executable", "process.executable.path" },
		      { "host", "host.name" },
		      { "group", "service.name" } };
	size_t count = 0;
	char *rest, *line = strtok_r(lines, "\n", &rest);

	for (; line && count < RESOURCE_MAX; line = strtok_r(NULL, "\n", &rest)) {
		char *equals = strchr(line, '=');

		if (!equals || equals == line)
			continue;
		*equals = '\0';
		attributes[count] = (struct otlp_attribute){ .key = line, .text = equals + 1 };
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (!strcmp(line, names[i].key))
				attributes[count].key = names[i].attribute;
		count++;
	}
	return count;
}

static void write_groups(struct otlp_file *f)
{
	struct otlp_attribute attributes[RESOURCE_MAX];

	for (uint32_t i = 0; i < f->store->group_count && !f->out.err; i++) {
		const struct timed_group *group = &f->store->groups[i];
		const struct thread_key *key =
			intern_key(&f->store->profile.threads, group->thread);
		char *lines = strdup(intern_text(&f->store->profile.names, key->labels));

		if (!lines) {
			otlp_set_error(&f->out, -ENOMEM);
			break;
		}
		f->message.resource = attributes;
		f->message.resource_count = labels_split(lines, attributes);
		write_group(f, group);
		free(lines);
	}
}

/* Choose the columns as for a profile with the metrics of the groups. */
static void choose_columns(struct otlp_file *f)
{
	struct sample samples[METRICS] = { 0 };
	struct profile kinds = { .samples = samples, .count = METRICS };

	for (uint32_t i = 0; i < f->store->group_count; i++) {
		const struct timed_group *group = &f->store->groups[i];

		samples[group->metric].metric = group->metric;
		samples[group->metric].total += f->store->samples[group->from].total;
	}
	columns_choose(&f->columns, &kinds, ~1u);
}

int otlp_file_write(FILE *file, struct timed_store *store, const struct libraries *libraries)
{
	struct otlp_file f = { .file = file,
			       .store = store,
			       .message = { .profile = &store->profile, .libraries = libraries } };
	struct buf dictionary = BUF_INIT(SIZE_MAX / 4), whole = BUF_INIT(SIZE_MAX / 4);

	choose_columns(&f);
	otlp_init(&f.out, &f.message);
	write_groups(&f);
	otlp_append_dictionary(&f.out, &dictionary);
	otlp_set_error(&f.out, proto_message(&whole, 2, &dictionary));
	if (!f.out.err)
		fwrite(whole.data, 1, whole.length, file);
	buf_free(&dictionary);
	buf_free(&whole);
	return otlp_close(&f.out);
}
