// Exceptions, for every instruction on their way: past frames with and without cleanups, found by the stack pointer,
// the frame pointer or neither; and rethrown.
#include <alloca.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "test/programs/stepper.h"

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;

struct cleanup {
	~cleanup()
	{
		sink = sink + 1;
	}
};

NOINLINE static void throw_now()
{
	const cleanup done;

	throw std::runtime_error("thrown");
}

NOINLINE static void by_stack_pointer(int depth)
{
	const cleanup done;

	if (!depth)
		throw_now();
	by_stack_pointer(depth - 1);
	sink = sink + 1;
}

NOINLINE static void by_frame_pointer(int depth)
{
	const cleanup done;
	volatile char *room = static_cast<char *>(alloca(static_cast<size_t>(depth) * 10 + 1));

	room[0] = 1;
	if (!depth)
		throw_now();
	by_frame_pointer(depth - 1);
	sink = sink + static_cast<unsigned long>(room[0]);
}

NOINLINE static void by_aligned_frame(int depth)
{
	const cleanup done;
	alignas(64) volatile char room[64];

	room[0] = 1;
	if (!depth)
		by_stack_pointer(0);
	by_aligned_frame(depth - 1);
	sink = sink + static_cast<unsigned long>(room[0]);
}

NOINLINE static void by_both(int depth)
{
	const cleanup done;

	by_frame_pointer(depth);
	sink = sink + 1;
}

static int compare(const void *, const void *)
{
	throw_now();
	return 0;
}

NOINLINE static void by_library(int)
{
	int numbers[2] = {};

	std::qsort(numbers, 2, sizeof(numbers[0]), compare);
}

NOINLINE static void thrown_on(int depth)
{
	try {
		by_frame_pointer(depth);
	} catch (...) {
		sink = sink + 1;
		throw;
	}
}

// With all registers in use, so that no frame pointer is left for callees.
NOINLINE static void caught(void (*thrower)(int))
{
	const unsigned long a = sink * 3, b = sink * 5, c = sink * 7, d = sink * 11, e = sink * 13;

	try {
		thrower(1);
	} catch (const std::exception &) {
		sink = sink + 1;
	}
	sink = a + b + c + d + e;
}

NOINLINE static void caught_by_frame_pointer(void (*thrower)(int))
{
	volatile char *room = static_cast<char *>(alloca(sink % 64 + 1));

	room[0] = 1;
	try {
		thrower(1);
	} catch (const std::exception &) {
		sink = sink + 1;
	}
	sink = sink + static_cast<unsigned long>(room[0]);
}

static const struct {
	void (*catcher)(void (*)(int));
	void (*thrower)(int);
} throws[] = {
	{ caught, by_aligned_frame },
	{ caught, by_library },
	{ caught, thrown_on },
	{ caught_by_frame_pointer, by_both },
};

int main()
{
	for (const auto &one : throws) {
		step_on();
		one.catcher(one.thrower);
		step_off();
	}
	step_again();
}
