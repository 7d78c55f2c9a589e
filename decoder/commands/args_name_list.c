/* Switches whose value is a list of names: --fold library,kernel. */
#include "decoder/commands/args.h"

#include <errno.h>
#include <string.h>

#include "profile/aggregate/frame_category.h"
#include "profile/aggregate/wait.h"

static const struct names {
	int kind;
	const char *const *list;
	uint32_t count, first; /* FIRST: names before it are not accepted */
} all_names[] = {
	{ ARG_FOLD, frame_category_names, FRAME_CATEGORIES, 0 },
	{ ARG_STATES, jfr_wait_states, WAIT_STATES, 1 },
	{ ARG_CAUSES, jfr_wait_causes, WAIT_CAUSES, 0 },
};

static const struct names *find_names(int kind)
{
	const struct names *names = all_names;

	while (names->kind != kind)
		names++;
	return names;
}

/* Returns the index of the name of LENGTH bytes at WORD, or the number of names. */
static uint32_t find_name(const struct names *names, const char *word, size_t length)
{
	uint32_t i = names->first;

	while (i < names->count &&
	       (strlen(names->list[i]) != length || strncmp(word, names->list[i], length) != 0))
		i++;
	return i;
}

int args_name_list(int kind, const char *text, uint32_t *mask)
{
	const struct names *names = find_names(kind);

	for (const char *word = text;; word++) {
		size_t length = strcspn(word, ",");
		uint32_t found = find_name(names, word, length);

		if (found == names->count)
			return -EINVAL;
		*mask |= 1u << found;
		word += length;
		if (!*word)
			return 0;
	}
}

const char *args_name_list_text(int kind, struct buf *out)
{
	const struct names *names = find_names(kind);

	buf_reset(out);
	for (uint32_t i = names->first; i < names->count; i++)
		buf_printf(out, "%s%s", i == names->first ? "" : ", ", names->list[i]);
	buf_append_string(out, ", or several with commas between them");
	return buf_string(out);
}
