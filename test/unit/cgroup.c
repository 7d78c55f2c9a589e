/* core/text/cgroup.c: the path is found in the list of either version, with its colons. */
#include "core/text/cgroup.h"

#include <string.h>

#include "test/fixtures/suite.h"

static const struct {
	const char *text, *path;
} lists[] = {
	{ "0::/user.slice\n", "/user.slice" },
	{ "0::/\n", "/" },
	{ "1:name=systemd:/a\n0::/b\n", "/b" },
	{ "12:cpu,cpuacct:/docker/a\n11:memory:/docker/b\n", "/docker/a" },
	{ "3:cpu:/pod.slice:cri-containerd:0a\n2:memory:/x\n", "/pod.slice:cri-containerd:0a" },
	{ "0::/pod.slice:cri-containerd:0a\n", "/pod.slice:cri-containerd:0a" },
	{ "0::/no newline", "/no newline" },
	{ "nonsense\n1:cpu:/a\n", "/a" },
	{ "nonsense\n", NULL },
	{ "", NULL },
};

START_TEST(finds_the_path)
{
	char text[128];

	ck_assert_uint_lt(strlen(lists[_i].text), sizeof(text));
	strcpy(text, lists[_i].text);
	ck_assert_pstr_eq(cgroup_path(text), lists[_i].path);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("cgroup");

	tcase_add_loop_test(tcase, finds_the_path, 0, sizeof(lists) / sizeof(lists[0]));
	return suite_run(tcase);
}
