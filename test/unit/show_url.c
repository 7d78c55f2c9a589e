/* core/show_url.c: output has no secret parts of a URL. */
#include "core/show_url.h"

#include <string.h>

#include "test/fixtures/suite.h"

static const struct {
	const char *text, *shown;
} urls[] = {
	{ "http://host", "http://host" },
	{ "https://host:8443/a/b", "https://host:8443/a/b" },
	{ "http://user:password@host:80/a", "http://host:80/a" },
	{ "http://user@host/", "http://host/" },
	{ "http://user:pass/word@host/", "http://host/" },
	{ "http://user:pass?word@host/", "http://host/" },
	{ "http://user:pass@word@host/", "http://host/" },
	{ "http://user:pass#word@host/?token=x", "http://host/" },
	{ "http://host/a?token=secret", "http://host/a" },
	{ "http://host?token=secret", "http://host" },
	{ "http://host/a#secret", "http://host/a" },
	{ "http://[::1]:9000/", "http://[::1]:9000/" },
	{ "socks5h://user:password@host", "socks5h://host" },
	{ "user:password@host", "host" },
	{ "//user:password@host/", "host/" },
	{ "user://password@host", "user://host" },
	{ "host/a?b=http://c", "host/a" },
	{ "http://a\r\nb\033", "http://a??b?" },
	{ "", "" },
	{ "@", "" },
};

START_TEST(shows_no_secret)
{
	char out[SHOW_URL_SIZE];

	ck_assert_str_eq(show_url(out, urls[_i].text), urls[_i].shown);
}
END_TEST

START_TEST(cuts_what_is_too_long)
{
	char text[2 * SHOW_URL_SIZE], out[SHOW_URL_SIZE];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_uint_eq(strlen(show_url(out, text)), SHOW_URL_SIZE - 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("show_url");

	tcase_add_loop_test(tcase, shows_no_secret, 0, sizeof(urls) / sizeof(urls[0]));
	tcase_add_test(tcase, cuts_what_is_too_long);
	return suite_run(tcase);
}
