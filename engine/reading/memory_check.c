/* Compares many places in memory by one system call. */
#include "engine/reading/memory_check.h"

#include <errno.h>
#include <string.h>

#include "engine/reading/memory_reader.h"

/* Fallback for a sandbox that refuses the batched read. */
static bool check_read_each(const struct memory_check *check, uint8_t *data)
{
	for (size_t i = 0; i < check->count; i++) {
		const struct iovec *place = &check->places[i];

		if (!memory_copy(data, (uintptr_t)place->iov_base, place->iov_len))
			return false;
		data += place->iov_len;
	}
	return true;
}

static bool check_compare(const struct memory_check *check)
{
	uint8_t data[MEMORY_CHECK_PLACES * MEMORY_CHECK_BYTES], *at = data;
	size_t size = 0;
	long n;

	for (size_t i = 0; i < check->count; i++)
		size += check->places[i].iov_len;
	n = memory_copy_places(data, size, check->places, check->count);
	if (n != (long)size && (n >= 0 || n == -EFAULT || !check_read_each(check, data)))
		return false;
	for (size_t i = 0; i < check->count; i++) {
		if (memcmp(at, check->expected[i], check->places[i].iov_len))
			return false;
		at += check->places[i].iov_len;
	}
	return true;
}

bool memory_check_end(struct memory_check *check)
{
	if (check->count && !check->failed)
		check->failed = !check_compare(check);
	check->count = 0;
	return !check->failed;
}

void memory_check_add(struct memory_check *check, uintptr_t address, const void *expected,
		      size_t size)
{
	if (size > MEMORY_CHECK_BYTES)
		check->failed = true;
	if (check->count == MEMORY_CHECK_PLACES)
		memory_check_end(check);
	if (check->failed || !size)
		return;
	check->places[check->count] =
		(struct iovec){ .iov_base = (void *)address, .iov_len = size };
	check->expected[check->count++] = expected;
}
