/* upload/http/url.c: URLs are parsed, and encoded for S3. */
#include "upload/http/url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test/fixtures/suite.h"

static const struct {
	const char *text;
	bool https;
	const char *host;
	unsigned int port;
	const char *path;
	bool loopback;
} good[] = {
	{ "http://a", false, "a", 80, "", false },
	{ "https://a/", true, "a", 443, "/", false },
	{ "HTTPS://A.Example.com:8443/b?c=d#e", true, "a.example.com", 8443, "/b?c=d#e", false },
	{ "http://a:80", false, "a", 80, "", false },
	{ "http://a?b", false, "a", 80, "?b", false },
	{ "http://a_b-c.d/", false, "a_b-c.d", 80, "/", false },
	{ "http://[fd00:EC2::254]:81/x", false, "fd00:ec2::254", 81, "/x", false },
	{ "http://[::1]", false, "::1", 80, "", true },
	{ "http://[::2]", false, "::2", 80, "", false },
	{ "http://127.0.0.1/", false, "127.0.0.1", 80, "/", true },
	{ "http://127.255.0.9/", false, "127.255.0.9", 80, "/", true },
	{ "http://128.0.0.1/", false, "128.0.0.1", 80, "/", false },
	{ "http://127.0.0.1.example.com", false, "127.0.0.1.example.com", 80, "", false },
	{ "http://LocalHost:65535", false, "localhost", 65535, "", true },
};

START_TEST(takes_apart)
{
	struct url url;

	ck_assert_int_eq(url_parse(&url, good[_i].text), 0);
	ck_assert_int_eq(url.https, good[_i].https);
	ck_assert_str_eq(url.host, good[_i].host);
	ck_assert_int_eq(url.ipv6, strchr(good[_i].text, '[') != NULL);
	ck_assert_uint_eq(url.port, good[_i].port);
	ck_assert_str_eq(url.path, good[_i].path);
	ck_assert_int_eq(url_is_loopback(&url), good[_i].loopback);
}
END_TEST

static const char *const bad[] = {
	"",
	"a",
	"//a",
	"ftp://a",
	"http:a",
	"http:/a",
	"http://",
	"http:///a",
	"http://:80",
	"http://user@a/",
	"http://user:word@a/",
	"http://a:/",
	"http://a:x/",
	"http://a:65536",
	"http://a:99999999999999999999",
	"http://a:80x",
	"http://a b/",
	"http://a/b c",
	"http://a/b\r\nHost: c",
	"http://a\n",
	"http://a/\177",
	"http://[::1",
	"http://[]",
	"http://[g::1]",
	"http://[::1]a",
	"http://a\\b",
	"http://a%2eb",
};

START_TEST(refuses)
{
	struct url url;

	ck_assert_msg(url_parse(&url, bad[_i]) == -EINVAL, "'%s' passed", bad[_i]);
}
END_TEST

START_TEST(hosts_are_bounded)
{
	char text[8 + 300];
	struct url url;

	for (size_t length = 254; length < 258; length++) {
		snprintf(text, sizeof(text), "http://%0*d", (int)length, 0);
		ck_assert_int_eq(url_parse(&url, text), length < sizeof(url.host) ? 0 : -EINVAL);
	}
}
END_TEST

static const struct {
	const char *text, *whole, *path;
} encoded[] = {
	{ "", "", "" },
	{ "AZaz09-._~", "AZaz09-._~", "AZaz09-._~" },
	{ "a/b", "a%2Fb", "a/b" },
	{ "ecs_arn:aws:ecs", "ecs_arn%3Aaws%3Aecs", "ecs_arn%3Aaws%3Aecs" },
	{ "a b+c%20", "a%20b%2Bc%2520", "a%20b%2Bc%2520" },
	{ "\xc3\xa4\x01\xff", "%C3%A4%01%FF", "%C3%A4%01%FF" },
	{ "!*'()", "%21%2A%27%28%29", "%21%2A%27%28%29" },
};

START_TEST(encodes)
{
	struct buf out = BUF_INIT(512);

	ck_assert_int_eq(url_encode(&out, encoded[_i].text, false), 0);
	ck_assert_str_eq(buf_string(&out), encoded[_i].whole);
	buf_reset(&out);
	ck_assert_int_eq(url_encode(&out, encoded[_i].text, true), 0);
	ck_assert_str_eq(buf_string(&out), encoded[_i].path);
	buf_free(&out);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("url");

	tcase_add_loop_test(tcase, takes_apart, 0, sizeof(good) / sizeof(good[0]));
	tcase_add_loop_test(tcase, refuses, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tcase, hosts_are_bounded);
	tcase_add_loop_test(tcase, encodes, 0, sizeof(encoded) / sizeof(encoded[0]));
	tcase_set_timeout(tcase, 30);
	return suite_run(tcase);
}
