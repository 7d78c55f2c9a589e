/* Labels of samples in profile.proto. */
#include "profile/pprof/pprof_labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/basics/text.h"
#include "profile/encode/proto.h"

#define VALUES_PER_KEY_MAX 32
#define SELECTED_KEYS_MAX  5

static void label_append(struct pprof *out, const char *key, const char *value)
{
	struct buf label = BUF_INIT(64);

	pprof_append_int(out, &label, 1, pprof_add_string(out, key));
	pprof_append_int(out, &label, 2, pprof_add_string(out, value));
	pprof_set_error(out, proto_message(&out->message, 3, &label));
	buf_free(&label);
}

/* Split LINE, "key=value", in place. Returns the value, or NULL if there is no '='. *NEXT is the
 * start of the next line. */
static char *label_line_split(char *line, char **next)
{
	size_t length = strcspn(line, "\n");
	char *equals;

	*next = line + length + (line[length] != '\0');
	line[length] = '\0';
	equals = strchr(line, '=');
	if (equals)
		*equals = '\0';
	return equals ? equals + 1 : NULL;
}

static bool key_is_selected(const struct pprof *out, const char *key)
{
	if (!out->selects_labels || !strcmp(key, "span_id"))
		return true;
	for (uint32_t id = 1; id <= out->label_keys.count && id <= SELECTED_KEYS_MAX; id++)
		if (!strcmp(intern_text(&out->label_keys, id), key))
			return out->label_value_counts[id - 1] <= VALUES_PER_KEY_MAX;
	return false;
}

static void key_replace_special(char *key)
{
	for (; *key; key++)
		if (!(*key >= 'a' && *key <= 'z') && !(*key >= 'A' && *key <= 'Z') &&
		    !(*key >= '0' && *key <= '9'))
			*key = '_';
}

/* Append LINES, except those whose key is also in OVERRIDES. */
static void label_lines_append(struct pprof *out, const char *lines, const char *overrides)
{
	char *copy = strdup(lines), *line, *next, *value;

	if (!copy)
		pprof_set_error(out, -ENOMEM);
	for (line = copy; line && *line; line = next) {
		value = label_line_split(line, &next);
		if (!value || text_find_line(overrides, line, true) || !key_is_selected(out, line))
			continue;
		if (out->selects_labels)
			key_replace_special(line);
		label_append(out, line, value);
	}
	free(copy);
}

/* Append the labels of S's wait whose keys are not in CONTEXT: a program's own labels have priority.
 * Pyroscope gets no object, as these are many. */
static void wait_labels_append(struct pprof *out, const struct sample *s, const char *context)
{
	const struct wait *wait = profile_wait(out->profile, s->wait);
	const struct {
		const char *key, *value;
	} labels[] = {
		{ "state", wait->state ? jfr_wait_states[wait->state] : "" },
		{ "cause", wait->cause ? jfr_wait_causes[wait->cause] : "" },
		{ "on", out->selects_labels ? "" : intern_text(&out->profile->names, wait->on) },
	};

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
		if (*labels[i].value && !text_find_line(context, labels[i].key, true))
			label_append(out, labels[i].key, labels[i].value);
}

void pprof_append_labels(struct pprof *out, const struct sample *s)
{
	const struct intern *names = &out->profile->names;
	const struct thread_key *thread = intern_key(&out->profile->threads, s->thread);
	const char *context = intern_text(names, s->context);
	char name[256];

	if (s->thread) {
		profile_thread_name(out->profile, s->thread, name, sizeof(name));
		label_append(out, "thread", name);
		label_lines_append(out, intern_text(names, thread->labels), context);
	}
	label_lines_append(out, context, "");
	wait_labels_append(out, s, context);
}

/* Count one more distinct value of KEY. */
static void key_count_value(struct pprof *out, const char *key)
{
	uint32_t before = out->label_keys.count, id = intern_string(&out->label_keys, key), *values;

	if (!id) {
		pprof_set_error(out, -ENOMEM);
		return;
	}
	if (out->label_keys.count != before) {
		values = realloc(out->label_value_counts, id * sizeof(*values));
		if (!values) {
			pprof_set_error(out, -ENOMEM);
			return;
		}
		out->label_value_counts = values;
		values[id - 1] = 0;
	}
	out->label_value_counts[id - 1]++;
}

/* Pyroscope reserves names that start with "__", and rejects names that start with a digit. */
static bool key_is_selectable(const char *key)
{
	return strcmp(key, "trace_id") && strcmp(key, "span_id") && strcmp(key, "service_name") &&
	       strcmp(key, "service.name") && *key && strncmp(key, "__", 2) &&
	       !(*key >= '0' && *key <= '9');
}

/* Count the values in LINES that are not in SEEN, and add them to SEEN. */
static void label_lines_count(struct pprof *out, const char *lines, struct intern *seen)
{
	char *copy = strdup(lines), *line, *next;

	if (!copy)
		pprof_set_error(out, -ENOMEM);
	for (line = copy; line && *line && !out->err; line = next) {
		uint32_t before = seen->count;

		if (!intern(seen, line, strcspn(line, "\n")))
			pprof_set_error(out, -ENOMEM);
		if (label_line_split(line, &next) && seen->count != before &&
		    key_is_selectable(line))
			key_count_value(out, line);
	}
	free(copy);
}

void pprof_select_labels(struct pprof *out, uint32_t metrics)
{
	const struct profile *profile = out->profile;
	struct intern seen = INTERN_INIT;
	uint32_t context = 0;

	/* Count over the whole report, so that all of its parts select the same labels. */
	for (uint32_t i = 0; i < profile->count && !out->err; i++)
		if (metrics & 1u << profile->samples[i].metric &&
		    profile->samples[i].context != context) {
			context = profile->samples[i].context;
			label_lines_count(out, intern_text(&profile->names, context), &seen);
		}
	out->selects_labels = true;
	intern_free(&seen);
}
