/* Has threads with 16 KiB of stack, by a limit or a default attribute, and works for the given
 * seconds. */
#include <pthread.h>
#include <time.h>

#include "test/programs/check.h"

static void *work(void *seconds)
{
	time_t until = time(NULL) + atoi(seconds);

	while (time(NULL) < until)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;

	CHECK(argc == 2);
	CHECK(!pthread_attr_init(&attr));
	CHECK(!pthread_attr_setstacksize(&attr, 16384));
	CHECK(!pthread_setattr_default_np(&attr));
	CHECK(!pthread_create(&thread, NULL, work, argv[1]));
	CHECK(!pthread_join(thread, NULL));
	return 0;
}
