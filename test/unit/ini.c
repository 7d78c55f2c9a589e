/* upload/aws/ini.c: the config and credentials files as the AWS tools read them. */
#include "upload/aws/ini.h"

#include <string.h>

#include "test/fixtures/suite.h"

static const struct {
	const char *text, *section, *key, *value;
} cases[] = {
	{ "[default]\nregion = a\n", "default", "region", "a" },
	{ "[default]\nregion=a", "default", "region", "a" },
	{ "[default]\r\nregion = a\r\n", "default", "region", "a" },
	{ "\n\n# c\n; c\n[default]\n#region = b\n\tregion = a \t\n", "default", "region", "a" },
	{ "[ default ]\nregion = a\n", "default", "region", "a" },
	{ "[default] # c\nregion = a\n", "default", "region", "a" },
	{ "region = b\n[default]\n", "default", "region", NULL },
	{ "[other]\nregion = b\n[default]\nregion = a\n", "default", "region", "a" },
	{ "[default]\nregion = a\n[other]\nregion = b\n", "default", "region", "a" },
	{ "[defaults]\nregion = b\n", "default", "region", NULL },
	{ "[default]\nregion = b\nregion = a\n", "default", "region", "a" },
	{ "[default]\nregion = b\n[x]\n[default]\nregion = a\n", "default", "region", "a" },
	{ "[default]\nregion = b\nregion =\n", "default", "region", NULL },
	{ "[default]\nregions = b\nregio = b\nregion : b\nregion\n= b\n", "default", "region",
	  NULL },
	{ "[default\nregion = b\n", "default", "region", NULL },
	{ "", "default", "region", NULL },

	/* A key is case-sensitive, and so is its value. */
	{ "[default]\nRegion = b\n", "default", "region", NULL },
	{ "[p]\nsecret = a/b+c=d#e;f\n", "p", "secret", "a/b+c=d#e;f" },
	{ "[p]\nsecret = a # c\n", "p", "secret", "a" },
	{ "[p]\nsecret = a\t; c\n", "p", "secret", "a" },
	{ "[p]\nsecret = #a\n", "p", "secret", "#a" },
	{ "[p]\nprocess = /bin/x --y \"z w\"\n", "p", "process", "/bin/x --y \"z w\"" },

	/* The config file has the kind of each section. */
	{ "[profile a b]\nregion = a\n", "profile a b", "region", "a" },
	{ "[profile  a]\nregion = a\n", "profile a", "region", "a" },
	{ "[profile\t\"a\"]\nregion = a\n", "profile a", "region", "a" },
	{ "[profile 'a b']\nregion = a\n", "profile a b", "region", "a" },
	{ "[profilea]\nregion = b\n", "profile a", "region", NULL },
	{ "[profile]\nregion = b\n", "profile a", "region", NULL },
	{ "[a]\nregion = b\n", "profile a", "region", NULL },

	/* Nested keys. */
	{ "[default]\ns3 =\n  style = path\n", "default", "s3.style", "path" },
	{ "[default]\ns3 =\n\tstyle = path\n\tregion = b\nregion = a\n", "default", "region", "a" },
	{ "[default]\ns3 =\n  x = 1\n\n# c\n  style = path\n", "default", "s3.style", "path" },
	{ "[default]\ns3 =\nstyle = path\n", "default", "s3.style", NULL },
	{ "[default]\ns3 = x\n  style = path\n", "default", "s3.style", NULL },
	{ "[default]\nsts =\n  style = b\ns3 =\n  style = a\n", "default", "s3.style", "a" },
	{ "[x]\ns3 =\n[default]\n  style = path\n", "default", "s3.style", NULL },
	{ "[default]\ns3.style = path\n", "default", "s3.style", "path" },
};

/* A copy of exactly its length, so that a sanitizer detects one byte too many. */
static char *get(const char *text, const char *section, const char *key)
{
	size_t length = strlen(text);
	char *copy = malloc(length ? length : 1), *value;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, length);
	value = ini_get(copy, length, section, key);
	free(copy);
	return value;
}

START_TEST(reads)
{
	char *value = get(cases[_i].text, cases[_i].section, cases[_i].key);

	ck_assert_msg(!cases[_i].value == !value && (!value || !strcmp(value, cases[_i].value)),
		      "%s in [%s] of '%s' is %s", cases[_i].key, cases[_i].section, cases[_i].text,
		      value ? value : "missing");
	free(value);
}
END_TEST

START_TEST(nothing_has_nothing)
{
	ck_assert_ptr_null(ini_get(NULL, 0, "default", "region"));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("ini");

	tcase_add_loop_test(tcase, reads, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tcase, nothing_has_nothing);
	tcase_set_timeout(tcase, 30);
	return suite_run(tcase);
}
