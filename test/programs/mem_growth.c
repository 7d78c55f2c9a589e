/* Keeps memory of known functions: 16 MiB at first, after which it requests a report into the
 * directory that is its argument, then 60 MiB more. It ends when there is another file. The status
 * is 0 if both came. */
#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/asprof_agent.h"

#define NOINLINE __attribute__((noinline))

/* Not a tail call, so that the caller is in the stack. The functions differ, because the compiler
 * would merge equal ones. */
#define KEEPER(name, mark)                                   \
	static NOINLINE void name(size_t mib)                \
	{                                                    \
		for (size_t i = 0; i < 16 * mib; i++) {      \
			char *volatile p = malloc(1u << 16); \
                                                             \
			if (!p)                              \
				abort();                     \
			*p = mark;                           \
		}                                            \
	}
KEEPER(keep_before, 0)
KEEPER(keep_first, 1)
KEEPER(keep_second, 2)
KEEPER(keep_third, 3)
KEEPER(keep_fourth, 4)
KEEPER(keep_fifth, 5)
KEEPER(keep_sixth, 6)

static int files(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int count = 0;

	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* Within half a minute. */
static int wait_for(const char *path, int count)
{
	for (int i = 0; i < 3000 && files(path) < count; i++)
		usleep(10000);
	return files(path) >= count;
}

int main(int argc, char **argv)
{
	/* Unknown to the compiler, which would otherwise make a function for each number. */
	static volatile size_t mib[] = { 16, 2, 4, 6, 8, 10, 30 };

	while (asprof_agent_running && !asprof_agent_running())
		usleep(10000);
	keep_before(mib[0]);
	if (argc < 2 || (asprof_agent_flush && asprof_agent_flush()) || !wait_for(argv[1], 1))
		return 2;
	keep_sixth(mib[1]);
	keep_fifth(mib[2]);
	keep_fourth(mib[3]);
	keep_third(mib[4]);
	keep_second(mib[5]);
	keep_first(mib[6]);
	return wait_for(argv[1], 2) ? 0 : 3;
}
