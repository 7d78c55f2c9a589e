/* Fault-free reads of memory that may be unmapped at any moment. */
#include "engine/reading/memory_reader.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/kernel.h"
#include "core/system.h"

#define SIGSET_BYTES 8

bool memory_probe(uintptr_t address)
{
	/* The kernel reads the set before it checks the operation, which is invalid. The result is
	 * EFAULT when the set cannot be read, else EINVAL. Nothing changes. */
	address &= ~(uintptr_t)(SIGSET_BYTES - 1);
	return kernel_call4(SYS_rt_sigprocmask, -1, (long)address, 0, SIGSET_BYTES) == -EINVAL;
}

/* Not memcpy(3): a sanitizer's version first reads its shadow memory of the address, which does not
 * exist for every address. */
void memory_take(void *data, uintptr_t address, size_t size)
{
	uint8_t *to = data;
	uint64_t word;
	size_t i = 0;

	if (address % sizeof(word) == 0)
		for (; i + sizeof(word) <= size; i += sizeof(word)) {
			word = *(const volatile uint64_t *)(address + i);
			__builtin_memcpy(to + i, &word, sizeof(word));
		}
	for (; i < size; i++)
		to[i] = ((const volatile uint8_t *)address)[i];
}

/* Fallback for a sandbox that refuses the call: memory that was readable a moment ago is read
 * directly. */
static bool copy_after_probe(void *data, uintptr_t address, size_t size)
{
	if (!memory_probe(address) || !memory_probe(address + size - 1))
		return false;
	memory_take(data, address, size);
	return true;
}

/* SELF is the thread's own id: the process id does not work any more once the main thread has
 * ended. */
static long copy_by(pid_t self, void *data, size_t size, const struct iovec *places, size_t count)
{
	struct iovec to = { .iov_base = data, .iov_len = size };

	return kernel_call6(SYS_process_vm_readv, self, (long)&to, 1, (long)places, (long)count, 0);
}

static bool copy_one_by(pid_t self, void *data, uintptr_t address, size_t size)
{
	struct iovec from = { .iov_base = (void *)address, .iov_len = size };
	long n = copy_by(self, data, size, &from, 1);

	if (n == (long)size)
		return true;
	return n < 0 && n != -EFAULT && copy_after_probe(data, address, size);
}

long memory_copy_places(void *data, size_t size, const struct iovec *places, size_t count)
{
	return copy_by(system_thread(), data, size, places, count);
}

long memory_copy_available(void *data, uintptr_t address, size_t size)
{
	struct iovec from = { .iov_base = (void *)address, .iov_len = size };

	return memory_copy_places(data, size, &from, 1);
}

bool memory_copy(void *data, uintptr_t address, size_t size)
{
	return copy_one_by(system_thread(), data, address, size);
}

bool memory_is_system_call(uintptr_t code)
{
	uint8_t bytes[ARCH_SYSTEM_CALL_BYTES];

	return memory_copy(bytes, code, sizeof(bytes)) &&
	       !memcmp(bytes, ARCH_SYSTEM_CALL, sizeof(bytes));
}

bool memory_is_in_system_call(const ucontext_t *context)
{
	uintptr_t pc = (uintptr_t)CONTEXT_PC(context);

	return memory_is_system_call(pc) || ((long)CONTEXT_RESULT(context) == -EINTR &&
					     memory_is_system_call(pc - ARCH_SYSTEM_CALL_BYTES));
}

static bool reader_load_block(struct memory_block *block, uintptr_t address)
{
	if (block->address == address)
		return address;
	if (address >> ARCH_ADDRESS_BITS || block->copies >= MEMORY_COPIES_MAX)
		return false;
	if (block->budget && !walk_budget_use(block->budget, WALK_BUDGET_COPY))
		return false;
	block->copies++;
	if (!block->self)
		block->self = system_thread();
	block->address =
		copy_one_by(block->self, block->bytes, address, MEMORY_BLOCK) ? address : 0;
	return block->address;
}

static bool reader_is_known(const struct memory_reader *reader, uintptr_t address, size_t size)
{
	return address >= reader->low && address < reader->high && size <= reader->high - address;
}

/* Extend the known range by the next page, if ADDRESS is in it and it is readable. */
static bool reader_extend(struct memory_reader *reader, uintptr_t address)
{
	if (!reader->next || address - reader->next >= MEMORY_PAGE || !memory_probe(address))
		return false;
	if (!reader->high)
		reader->low = reader->next;
	reader->next += MEMORY_PAGE;
	reader->high = reader->next;
	return true;
}

bool memory_read(struct memory_reader *reader, void *data, uintptr_t address, size_t size)
{
	uint8_t *to = data;
	uintptr_t skip;
	size_t part;

	if (reader_is_known(reader, address, size) ||
	    (reader_extend(reader, address) && reader_is_known(reader, address, size))) {
		memory_take(data, address, size);
		return true;
	}
	for (; size; size -= part, address += part, to += part) {
		skip = address & (MEMORY_BLOCK - 1);
		part = size < MEMORY_BLOCK - skip ? size : MEMORY_BLOCK - skip;
		if (!reader_load_block(reader->block, address - skip))
			return false;
		memcpy(to, reader->block->bytes + skip, part);
	}
	return true;
}

bool memory_read_string(struct memory_reader *reader, char *text, size_t size, uintptr_t address)
{
	size_t length = 0;

	while (length < size && memory_read(reader, &text[length], address + length, 1)) {
		if (!text[length])
			return true;
		length++;
	}
	text[length < size ? length : size - 1] = '\0';
	return false;
}
