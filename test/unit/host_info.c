/* engine/process/host_info.c: the description of this machine equals that of other tools. */
#include "engine/process/host_info.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "test/fixtures/suite.h"

START_TEST(counts_processors)
{
	struct host_cpu cpu;

	host_cpu_read(&cpu);
	ck_assert_int_eq(cpu.threads, sysconf(_SC_NPROCESSORS_ONLN));
	ck_assert_uint_ge(cpu.sockets, 1);
	ck_assert_uint_ge(cpu.cores, 1);
	ck_assert_str_ne(cpu.model, "");
}
END_TEST

START_TEST(names_the_kernel)
{
	struct utsname name;
	char version[256];

	ck_assert_int_eq(uname(&name), 0);
	host_os_version(version, sizeof(version));
	ck_assert_ptr_nonnull(strstr(version, name.release));
}
END_TEST

START_TEST(shares_are_shares)
{
	static const struct timespec a_moment = { .tv_nsec = 30000000 };
	struct host_load load;

	ck_assert_int_eq(host_load_read(&load), -EAGAIN);
	nanosleep(&a_moment, NULL);
	ck_assert_int_eq(host_load_read(&load), 0);
	ck_assert(load.user >= 0 && load.system >= 0);
	ck_assert(load.machine >= load.user + load.system);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("host_info");

	tcase_add_test(tcase, counts_processors);
	tcase_add_test(tcase, names_the_kernel);
	tcase_add_test(tcase, shares_are_shares);
	return suite_run(tcase);
}
