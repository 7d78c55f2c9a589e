/* upload/files/untrusted.c: what leads elsewhere than it should does not pass. */
#include "upload/files/untrusted.h"

#include <stdio.h>
#include <string.h>

#include "test/fixtures/suite.h"

static const struct {
	enum outside word;
	const char *text;
	bool fits;
} words[] = {
	{ OUTSIDE_REGION, "eu-west-1", true },
	{ OUTSIDE_REGION, "us-gov-west-1", true },
	{ OUTSIDE_REGION, "RegionOne", true },
	{ OUTSIDE_REGION, "a", true },
	{ OUTSIDE_REGION, "", false },
	{ OUTSIDE_REGION, "evil.example/#", false },
	{ OUTSIDE_REGION, "evil.example", false },
	{ OUTSIDE_REGION, "evil/", false },
	{ OUTSIDE_REGION, "evil#", false },
	{ OUTSIDE_REGION, "evil?", false },
	{ OUTSIDE_REGION, "evil:80", false },
	{ OUTSIDE_REGION, "x@evil", false },
	{ OUTSIDE_REGION, "a%2fb", false },
	{ OUTSIDE_REGION, "a\\b", false },
	{ OUTSIDE_REGION, "a b", false },
	{ OUTSIDE_REGION, "a\r\nHost: evil", false },
	{ OUTSIDE_REGION, "eu-west-1\n", false },
	{ OUTSIDE_REGION, "-a", false },
	{ OUTSIDE_REGION, "a-", false },
	{ OUTSIDE_REGION, "\xc3\xa4", false },
	{ OUTSIDE_BUCKET, "my-bucket", true },
	{ OUTSIDE_BUCKET, "my.bucket", true },
	{ OUTSIDE_BUCKET, "My_Bucket", true },
	{ OUTSIDE_BUCKET, "", false },
	{ OUTSIDE_BUCKET, ".", false },
	{ OUTSIDE_BUCKET, "..", false },
	{ OUTSIDE_BUCKET, "a..b", false },
	{ OUTSIDE_BUCKET, "a/b", false },
	{ OUTSIDE_BUCKET, "evil.example/#", false },
	{ OUTSIDE_BUCKET, "a@evil", false },
	{ OUTSIDE_ACCOUNT, "123456789012", true },
	{ OUTSIDE_ACCOUNT, "1\r\nx: y", false },
	{ OUTSIDE_ACCOUNT, "", false },
	{ OUTSIDE_ROLE, "role-of_instance", true },
	{ OUTSIDE_ROLE, "a+b=c,d.e@f", true },
	{ OUTSIDE_ROLE, "../../user-data", false },
	{ OUTSIDE_ROLE, "..", false },
	{ OUTSIDE_ROLE, "a?b", false },
	{ OUTSIDE_ROLE, "<html>", false },
	{ OUTSIDE_ROLE, "", false },
	{ OUTSIDE_MACHINE, "i-0123456789abcdef0", true },
	{ OUTSIDE_MACHINE, "arn:aws:ecs:eu-west-1:123456789012:task/my_cluster/0b69", true },
	{ OUTSIDE_MACHINE, "i-0\033[2J", false },
	{ OUTSIDE_MACHINE, "i-0\n", false },
	{ OUTSIDE_MACHINE, "", false },
};

START_TEST(tells_what_fits)
{
	ck_assert_msg(outside_fits(words[_i].word, words[_i].text) == words[_i].fits, "%d '%s'",
		      (int)words[_i].word, words[_i].text);
}
END_TEST

START_TEST(words_are_bounded)
{
	char text[600];

	memset(text, 'a', sizeof(text));
	text[63] = '\0';
	ck_assert(outside_fits(OUTSIDE_REGION, text));
	text[63] = 'a';
	text[64] = '\0';
	ck_assert(!outside_fits(OUTSIDE_REGION, text));
	text[64] = 'a';
	text[513] = '\0';
	ck_assert(!outside_fits(OUTSIDE_MACHINE, text));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("outside");

	tcase_add_loop_test(tcase, tells_what_fits, 0, sizeof(words) / sizeof(words[0]));
	tcase_add_test(tcase, words_are_bounded);
	return suite_run(tcase);
}
