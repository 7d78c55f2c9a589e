/* decoder/doctor/doctor_target: the answer of the child that checks a process. Its contents are
 * not trusted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/doctor/doctor.h"
#include "decoder/output/message.h"
#include "test/fixtures/suite.h"

static char reported[1024];
static unsigned count;

static void report_finding(struct doctor_subject *subject, enum severity severity, const char *name,
			   const char *line, const char *remedy)
{
	size_t length = strlen(reported);

	(void)subject;
	count++;
	snprintf(reported + length, sizeof(reported) - length, "%d %s|%s|%s\n", severity, name,
		 line, remedy);
}

static int parse_answer(const char *data, size_t length, struct doctor_subject *subject)
{
	char *copy = malloc(length + 1); /* of exactly that size: for the address sanitizer */
	int err;

	memcpy(copy, data, length);
	copy = realloc(copy, length ? length : 1);
	memset(subject, 0, sizeof(*subject));
	subject->report = report_finding;
	reported[0] = '\0';
	err = doctor_parse_answer(subject, copy, length);
	free(copy);
	return err;
}

static const struct {
	const char *data;
	size_t length;
	int err;
	const char *reported;
} answers[] = {
#define ANSWER(data, err, reported)                   \
	{                                             \
		data, sizeof(data) - 1, err, reported \
	}
	ANSWER("d", 0, ""),
	ANSWER("sname\0line\0mend\0nother\0word\0that\0d", 0,
	       "0 name|line|mend\n1 other|word|that\n"),
	ANSWER("", -EPROTO, ""),
	ANSWER("sname\0line\0mend\0", -EPROTO, "0 name|line|mend\n"),
	ANSWER("sname\0line\0mend", -EPROTO, ""),
	ANSWER("sname\0line\0", -EPROTO, ""),
	ANSWER("sname", -EPROTO, ""),
	ANSWER("s", -EPROTO, ""),
	ANSWER("dd", -EPROTO, ""),
	ANSWER("x", -EPROTO, ""),
	ANSWER("fit is not so\0", -EPERM, ""),
	ANSWER("fit is", -EPROTO, ""),
	ANSWER("s\033[2Jn\0a\nb\302\233\0\342\200\256\0d", 0, "0 ?[2Jn|a?b??|???\n"),
};

START_TEST(taken)
{
	struct doctor_subject subject;

	message_disabled = true;
	ck_assert_int_eq(parse_answer(answers[_i].data, answers[_i].length, &subject),
			 answers[_i].err);
	ck_assert_str_eq(reported, answers[_i].reported);
}
END_TEST

START_TEST(anything)
{
	static const char letters[] = "snfdx\0\0\0";
	struct doctor_subject subject;
	char data[200];

	message_disabled = true;
	srandom(11);
	for (int i = 0; i < 20000; i++) {
		size_t length = (size_t)random() % sizeof(data);

		for (size_t k = 0; k < length; k++)
			data[k] = letters[(size_t)random() % (sizeof(letters) - 1)];
		parse_answer(data, length, &subject);
		ck_assert_uint_le(subject.counts[SEVERITY_STOP] + subject.counts[SEVERITY_NOTE],
				  length / 4);
	}
	ck_assert_uint_gt(count, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("doctor_answer");

	tcase_add_loop_test(tcase, taken, 0, (int)(sizeof(answers) / sizeof(answers[0])));
	tcase_add_test(tcase, anything);
	return suite_run(tcase);
}
