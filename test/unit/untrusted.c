/* upload/files/untrusted.c: words that lead to another place are refused. */
#include "upload/files/untrusted.h"

#include <stdio.h>
#include <string.h>

#include "test/fixtures/suite.h"

static const struct {
	enum untrusted word;
	const char *text;
	bool fits;
} words[] = {
	{ UNTRUSTED_REGION, "eu-west-1", true },
	{ UNTRUSTED_REGION, "us-gov-west-1", true },
	{ UNTRUSTED_REGION, "RegionOne", true },
	{ UNTRUSTED_REGION, "a", true },
	{ UNTRUSTED_REGION, "", false },
	{ UNTRUSTED_REGION, "evil.example/#", false },
	{ UNTRUSTED_REGION, "evil.example", false },
	{ UNTRUSTED_REGION, "evil/", false },
	{ UNTRUSTED_REGION, "evil#", false },
	{ UNTRUSTED_REGION, "evil?", false },
	{ UNTRUSTED_REGION, "evil:80", false },
	{ UNTRUSTED_REGION, "x@evil", false },
	{ UNTRUSTED_REGION, "a%2fb", false },
	{ UNTRUSTED_REGION, "a\\b", false },
	{ UNTRUSTED_REGION, "a b", false },
	{ UNTRUSTED_REGION, "a\r\nHost: evil", false },
	{ UNTRUSTED_REGION, "eu-west-1\n", false },
	{ UNTRUSTED_REGION, "-a", false },
	{ UNTRUSTED_REGION, "a-", false },
	{ UNTRUSTED_REGION, "\xc3\xa4", false },
	{ UNTRUSTED_BUCKET, "my-bucket", true },
	{ UNTRUSTED_BUCKET, "my.bucket", true },
	{ UNTRUSTED_BUCKET, "My_Bucket", true },
	{ UNTRUSTED_BUCKET, "", false },
	{ UNTRUSTED_BUCKET, ".", false },
	{ UNTRUSTED_BUCKET, "..", false },
	{ UNTRUSTED_BUCKET, "a..b", false },
	{ UNTRUSTED_BUCKET, "a/b", false },
	{ UNTRUSTED_BUCKET, "evil.example/#", false },
	{ UNTRUSTED_BUCKET, "a@evil", false },
	{ UNTRUSTED_ACCOUNT, "123456789012", true },
	{ UNTRUSTED_ACCOUNT, "1\r\nx: y", false },
	{ UNTRUSTED_ACCOUNT, "", false },
	{ UNTRUSTED_ROLE, "role-of_instance", true },
	{ UNTRUSTED_ROLE, "a+b=c,d.e@f", true },
	{ UNTRUSTED_ROLE, "../../user-data", false },
	{ UNTRUSTED_ROLE, "..", false },
	{ UNTRUSTED_ROLE, "a?b", false },
	{ UNTRUSTED_ROLE, "<html>", false },
	{ UNTRUSTED_ROLE, "", false },
	{ UNTRUSTED_MACHINE, "i-0123456789abcdef0", true },
	{ UNTRUSTED_MACHINE, "arn:aws:ecs:eu-west-1:123456789012:task/my_cluster/0b69", true },
	{ UNTRUSTED_MACHINE, "i-0\033[2J", false },
	{ UNTRUSTED_MACHINE, "i-0\n", false },
	{ UNTRUSTED_MACHINE, "", false },
};

START_TEST(tells_what_fits)
{
	ck_assert_msg(untrusted_is_valid(words[_i].word, words[_i].text) == words[_i].fits,
		      "%d '%s'", (int)words[_i].word, words[_i].text);
}
END_TEST

START_TEST(words_are_bounded)
{
	char text[600];

	memset(text, 'a', sizeof(text));
	text[63] = '\0';
	ck_assert(untrusted_is_valid(UNTRUSTED_REGION, text));
	text[63] = 'a';
	text[64] = '\0';
	ck_assert(!untrusted_is_valid(UNTRUSTED_REGION, text));
	text[64] = 'a';
	text[513] = '\0';
	ck_assert(!untrusted_is_valid(UNTRUSTED_MACHINE, text));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("outside");

	tcase_add_loop_test(tcase, tells_what_fits, 0, sizeof(words) / sizeof(words[0]));
	tcase_add_test(tcase, words_are_bounded);
	return suite_run(tcase);
}
