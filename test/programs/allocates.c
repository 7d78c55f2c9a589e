/* Allocates and frees as fast as it can, until it is killed. */
#include <stdlib.h>

int main(void)
{
	for (unsigned i = 0;; i++) {
		void *volatile block = malloc(16 + i % 100);

		free(block);
	}
}
