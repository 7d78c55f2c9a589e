/* Parser of the times of web services: RFC 3339. */
#include "upload/aws/instant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/date.h"

static int parse_offset(const char *text, int64_t *seconds)
{
	unsigned int hours, minutes;
	char sign;
	int end = 0;

	if (!strcmp(text, "Z") || !strcmp(text, "z")) {
		*seconds = 0;
		return 0;
	}
	if (sscanf(text, "%c%2u:%2u%n", &sign, &hours, &minutes, &end) != 3 || text[end] ||
	    (sign != '+' && sign != '-'))
		return -EINVAL;
	*seconds = (int64_t)(hours * 3600 + minutes * 60) * (sign == '+' ? 1 : -1);
	return 0;
}

int instant_parse(const char *text, int64_t *seconds)
{
	unsigned int n[6];
	int64_t offset;
	int end = 0;

	if (sscanf(text, "%4u-%2u-%2u%*1[Tt ]%2u:%2u:%2u%n", &n[0], &n[1], &n[2], &n[3], &n[4],
		   &n[5], &end) != 6 ||
	    end != 19 || n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > 31)
		return -EINVAL;
	text += end;
	if (*text == '.')
		text += 1 + strspn(text + 1, "0123456789");
	if (parse_offset(text, &offset))
		return -EINVAL;
	*seconds = date_seconds(n) - offset;
	return 0;
}
