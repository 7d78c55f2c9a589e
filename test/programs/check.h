/* Ends a test program and prints the place and the text of a failed condition. */
#ifndef TEST_PROGRAMS_CHECK_H
#define TEST_PROGRAMS_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                         \
	do {                                                                                     \
		if (!(condition)) {                                                              \
			printf("%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
			exit(1);                                                                 \
		}                                                                                \
	} while (0)

#endif
