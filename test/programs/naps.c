/* Sleeps SECONDS, as sleep(1) does, once it is profiled. */
#include <stdlib.h>
#include <unistd.h>

#include "test/programs/profiled.h"

int main(int argc, char **argv)
{
	need_agent();
	usleep(argc > 1 ? (useconds_t)(atof(argv[1]) * 1e6) : 0);
	return 0;
}
