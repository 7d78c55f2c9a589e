/* profile/basics/names.c and text.c: external names, made safe for output. */
#include "profile/basics/names.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/basics/text.h"
#include "test/fixtures/suite.h"

static const struct {
	const char *text, *clean;
} texts[] = {
	{ "worker-1", "worker-1" },
	{ "\xc3\xa9t\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80",
	  "\xc3\xa9t\xc3\xa9 \xe6\xbc\xa2 \xf0\x9f\x98\x80" },
	{ "\x1b[31mred", "?[31mred" },
	{ "a\tb\nc\x7f", "a?b?c?" },
	{ "\xc2\x9b"
	  "2J",
	  "??2J" }, /* CSI as one character */
	{ "\xc2\x80\xc2\x9f\xc2\xa0", "????\xc2\xa0" },
	{ "\x9b"
	  "2J",
	  "?2J" }, /* the same as a byte */
	{ "\xe2\x80\xae"
	  "evil",
	  "???evil" }, /* right to left */
	{ "\xe2\x81\xa6\xe2\x80\xa8\xd8\x9c", "????????" },
	{ "\xe6\xbc", "??" }, /* half a character */
	{ "\xc0\x9b\xed\xa0\x80", "?????" },
};

START_TEST(cleaned)
{
	char text[64];

	strcpy(text, texts[_i].text);
	text_clean_string(text);
	ck_assert_str_eq(text, texts[_i].clean);
}
END_TEST

#define LONG "std::map<std::string, std::vector<std::pair<int, int>>, std::less<std::string>>"
#define TEN  "abcdefghij"

static const struct {
	const char *name, *shown;
} names[] = {
	{ "short<int>::run(int)", "short<int>::run(int)" },
	{ "work::run<" LONG ">(" LONG " const&)::step", "work::run<...>(...)::step" },
	{ "work::operator<<"
	  "<" LONG LONG ">(int, long)",
	  "work::operator<<<...>(...)" },
	{ "operator->(" LONG LONG ")", "operator->(...)" },
	{ "<alloc::vec::Vec<" LONG LONG "> as Iterator>::next",
	  "<alloc::vec::Vec<...> as Iterator>::next" },
	{ "a()::f(" LONG LONG ")", "a()::f(...)" },
	{ "broken<" LONG LONG, "broken<std::map<std::string, std" },
	{ TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "klm", NULL },
};

static void print(const char *name, bool full, char out[512])
{
	int fd = memfd_create("out", MFD_CLOEXEC), saved = dup(STDOUT_FILENO);
	ssize_t length;

	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	names_print(name, 0, full);
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	length = pread(fd, out, 511, 0);
	out[length > 0 ? length : 0] = '\0';
	close(fd);
	close(saved);
}

START_TEST(long_names)
{
	char out[512];

	print(names[_i].name, true, out);
	ck_assert_str_eq(out, names[_i].name);
	print(names[_i].name, false, out);
	ck_assert_uint_le(strlen(out), 100);
	if (names[_i].shown)
		ck_assert_msg(!strncmp(out, names[_i].shown, strlen(names[_i].shown)), "%s", out);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("names");

	tcase_add_loop_test(tcase, cleaned, 0, sizeof(texts) / sizeof(texts[0]));
	tcase_add_loop_test(tcase, long_names, 0, sizeof(names) / sizeof(names[0]));
	return suite_run(tcase);
}
