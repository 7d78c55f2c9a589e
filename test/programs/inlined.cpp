/* Spends CPU time in functions that are inlined into one another. The test finds their lines by the
 * trailing comments. */
#include <ctime>

namespace work
{
static volatile unsigned long sink;

__attribute__((always_inline)) static inline unsigned long mix(unsigned long x)
{
	for (int i = 0; i < 1000; i++)
		x = x * 6364136223846793005ul + (x >> 7); /* mixes */
	return x;
}

__attribute__((always_inline)) static inline void rounds(unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		sink = sink + mix(i); /* calls mix */
}

__attribute__((noinline)) static void crunch(unsigned long count)
{
	rounds(count); /* calls rounds */
	sink = sink + 1;
}
}

int main(int argc, char **)
{
	while (clock() < CLOCKS_PER_SEC / 2)
		work::crunch(1000ul * (unsigned long)argc); /* calls crunch */
	return 0;
}
