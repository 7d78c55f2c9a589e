/* The churn of test/fixtures/mem_churn.h. Arguments: threads, seconds. */
#include "test/fixtures/mem_churn.h"

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 64;
	int seconds = argc > 2 ? atoi(argv[2]) : 5;

	if (seconds < 0 || threads < 1 || threads > CHURN_THREADS_MAX)
		return 2;
	churn((unsigned)threads, (unsigned)seconds, live);
	puts("done");
	return 0;
}
