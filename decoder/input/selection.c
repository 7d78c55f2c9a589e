/* Selection of recordings. A filter on a label that the recording does not have excludes the recording. */
#include "decoder/input/selection.h"

#include <stdlib.h>
#include <string.h>

#include "decoder/bucket/object_name.h"
#include "decoder/input/source.h"
#include "profile/jfr/labels.h"

#define LABELS_MAX (1u << 17)

bool selection_is_set(const struct selection *selection)
{
	return selection->process.set || selection->host.set || selection->tag.set ||
	       selection->label_count || selection->uploads.group.set ||
	       selection->uploads.machine.set;
}

static bool line_has_key(const char *line, const char *key)
{
	size_t length = strlen(key);

	return !strncmp(line, key, length) && line[length] == '=';
}

/* Returns the required labels that equal LINE, one bit each. */
static unsigned matched_labels(const struct selection *selection, const char *line)
{
	unsigned matched = 0;

	for (unsigned i = 0; i < selection->label_count; i++)
		if (!strcmp(line, selection->labels[i]))
			matched |= 1u << i;
	return matched;
}

/* Whether MATCHED has a label of each required key. */
static bool labels_are_complete(const struct selection *selection, unsigned matched)
{
	for (unsigned i = 0; i < selection->label_count && !selection->in_samples; i++) {
		size_t key = strcspn(selection->labels[i], "=") + 1;
		bool found = false;

		for (unsigned j = 0; j < selection->label_count; j++)
			found |= matched & 1u << j &&
				 !strncmp(selection->labels[i], selection->labels[j], key);
		if (!found)
			return false;
	}
	return true;
}

/* Whether the upload's name matches. A zip member is named by the zip, with its own name in parentheses. */
static bool name_matches(const struct upload_filter *uploads, const struct source *source)
{
	char *name;
	bool fits;

	if (!uploads->group.set && !uploads->machine.set)
		return true;
	name = strdup(source->name);
	if (!name)
		return false;
	name[labels_file_path_length(name)] = '\0';
	fits = object_name_matches(name, uploads);
	free(name);
	return fits;
}

bool selection_matches(const struct selection *selection, const struct source *source)
{
	bool process = !selection->process.set, host = !selection->host.set,
	     tag = !selection->tag.set;
	bool named = name_matches(&selection->uploads, source);
	struct buf labels = BUF_INIT(LABELS_MAX);
	char *line, *rest;
	unsigned matched = 0;

	labels_write(&labels, source->name, source->labels);
	line = selection_is_set(selection) && buf_string(&labels)
		       ? strtok_r((char *)labels.data, "\n", &rest)
		       : NULL;
	for (; line; line = strtok_r(NULL, "\n", &rest)) {
		const char *value = strchr(line, '=');

		if (!value)
			continue;
		matched |= matched_labels(selection, line);
		if (line_has_key(line, "process") || line_has_key(line, "executable"))
			process |= pattern_matches(&selection->process, value + 1);
		else if (line_has_key(line, "host"))
			host |= pattern_matches(&selection->host, value + 1);
		else if (!line_has_key(line, "profiled_since"))
			tag |= pattern_matches(&selection->tag, line);
	}
	buf_free(&labels);
	return named && process && host && tag && labels_are_complete(selection, matched);
}
