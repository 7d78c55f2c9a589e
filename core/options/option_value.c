/* Parsing and printing of option values: 10ms, 512k, 10%, on, off. No locale and no stdio, because it runs before
 * the program's main. */
#include "core/options/option_value.h"

#include <errno.h>
#include <string.h>

#include "core/format.h"
#include "core/show_url.h"
#include "core/units.h"

/* Maximum bytes of a value in a message. */
#define SHOWN_MAX 100

static const struct unit share_units[] = {
	{ "%", "%", 10, 0, true },
	{ .size = 0 },
};

static const struct {
	const struct unit *units;
	const char *description;
} numbers[] = {
	[OPTION_DURATION] = { duration_units, "a duration such as 10ms" },
	[OPTION_SIZE] = { size_units, "a size such as 512k" },
	[OPTION_SHARE] = { share_units, "a share such as 10%" },
};

/* Parse digits that are followed by one of UNITS, and nothing else. */
static int parse_number(const struct unit *units, const char *value, uint64_t *out)
{
	const struct unit *unit;
	const char *p = value;
	uint64_t number = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
			return -EINVAL;
	if (p == value)
		return -EINVAL;
	unit = unit_named(units, p, strlen(p));
	if (!unit || !unit->option)
		return -EINVAL;
	return __builtin_mul_overflow(number, unit->size, out) ? -EINVAL : 0;
}

static int parse_scaled(const struct option *option, const char *value, uint64_t *out)
{
	int err;

	if (!strcmp(value, "off")) {
		*out = option->off;
		return 0;
	}
	if (option->on && !strcmp(value, "on")) {
		*out = option->on;
		return 0;
	}
	if (!strcmp(value, "0")) /* the only number that needs no unit */
		*out = 0;
	else if ((err = parse_number(numbers[option->type].units, value, out)))
		return err;
	if (!*out && option->zero) {
		*out = option->off;
		return 0;
	}
	return *out >= option->min && *out <= option->max ? 0 : -EINVAL;
}

static int parse_word(const char *const *words, const char *value, unsigned int *out)
{
	for (unsigned int i = 0; words[i]; i++)
		if (!strcmp(value, words[i])) {
			*out = i;
			return 0;
		}
	return -EINVAL;
}

static int parse_text(const struct option *option, const char *value, const char **out)
{
	unsigned int word;

	*out = option->none && !strcmp(value, option->none) ? NULL : value;
	if (!*out)
		return 0;
	for (const char *p = value; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return -EINVAL;
	if (option->words)
		return parse_word(option->words, value, &word);
	return !option->check || option->check(value) ? 0 : -EINVAL;
}

int option_parse(const struct option *option, const char *value, union option_value *out)
{
	static const char *const switches[] = { "off", "on", NULL };
	unsigned int word = 0;
	int err;

	switch (option->type) {
	case OPTION_SWITCH:
		err = parse_word(switches, value, &word);
		out->on = word;
		return err;
	case OPTION_WORD:
		return parse_word(option->words, value, &out->word);
	case OPTION_DURATION:
	case OPTION_SIZE:
	case OPTION_SHARE:
		return parse_scaled(option, value, &out->number);
	case OPTION_TEXT:
		return parse_text(option, value, &out->text);
	}
	return -EINVAL;
}

/* Print NUMBER in the largest unit that divides it. */
static void format_number(const struct option *option, uint64_t number, char text[32])
{
	const struct unit *best = NULL;

	for (const struct unit *u = numbers[option->type].units; u->size; u++)
		if (u->option && (!best || (number && number % u->size == 0)))
			best = u;
	format_text(text, 32, "%llu%s", (unsigned long long)(number / best->size),
		    number ? best->name : "");
}

static void expects_number(const struct option *option, char *text, size_t size)
{
	char min[32], max[32];

	format_number(option, option->min, min);
	format_number(option, option->max, max);
	format_text(text, size, "%s (%s to %s)%s%s or off", numbers[option->type].description, min,
		    max, option->zero && option->min ? ", 0" : "", option->on ? ", on" : "");
}

static void expects_words(const char *const *words, char *text, size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (size_t i = 0; words[i] && length < size; i++)
		length += format_text(text + length, size - length, "%s%s",
				      !i             ? ""
				      : words[i + 1] ? ", "
						     : " or ",
				      words[i]);
}

void option_expects(const struct option *option, char *text, size_t size)
{
	static const char *const switches[] = { "on", "off", NULL };

	switch (option->type) {
	case OPTION_SWITCH:
		expects_words(switches, text, size);
		break;
	case OPTION_DURATION:
	case OPTION_SIZE:
	case OPTION_SHARE:
		expects_number(option, text, size);
		break;
	case OPTION_WORD:
	case OPTION_TEXT:
		if (option->words)
			expects_words(option->words, text, size);
		else
			format_text(text, size, "%s",
				    option->expects ? option->expects : "text on one line");
		break;
	}
}

int option_complain(const struct option *option, const char *value, char *problem)
{
	char shown[SHOWN_MAX + 4], expects[OPTION_EXPECTS_MAX], url[SHOW_URL_SIZE];
	size_t length = 0;

	if (option->check == check_url)
		value = show_url(url, value);
	for (; *value && length < SHOWN_MAX; value++)
		shown[length++] = (unsigned char)*value < ' ' || *value == 0x7f ? '?' : *value;
	format_text(shown + length, sizeof(shown) - length, "%s", *value ? "..." : "");
	option_expects(option, expects, sizeof(expects));
	format_text(problem, OPTION_PROBLEM_MAX, "%s%s=%s is not accepted: give %s", OPTION_PREFIX,
		    option->name, option->secret ? "(not shown)" : shown, expects);
	return -EINVAL;
}
