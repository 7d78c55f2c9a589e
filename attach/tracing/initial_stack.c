#include "attach/tracing/initial_stack.h"

#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>

#include "attach/tracing/tracee.h"
#include "core/options/option_value.h"

/* The user who attaches decides, not the environment of the process. */
static bool is_passed(const char *variable)
{
	return *variable && strncmp(variable, OPTION_PREFIX, strlen(OPTION_PREFIX)) != 0;
}

/* Append one word of the block. */
static int block_add(struct buf *block, uint64_t word)
{
	return buf_append(block, &word, sizeof(word));
}

/* Append addresses of the variables in STRINGS, which will be at ADDRESS. */
static int block_add_variables(struct buf *block, const struct buf *strings, uintptr_t address)
{
	int err = 0;

	for (size_t at = 0; !err && at < strings->length;
	     at += strlen((const char *)strings->data + at) + 1)
		err = block_add(block, address + at);
	return err ? err : block_add(block, 0);
}

/* Collect the variables: of the process, if they are its user's, and the settings. */
static int collect_strings(struct buf *strings, pid_t pid, bool is_trusted, char *const *settings)
{
	struct buf all = BUF_INIT(INITIAL_STACK_STRINGS_MAX);
	int err = is_trusted ? tracee_read(pid, "environ", &all) : 0;
	const char *text = err ? NULL : buf_string(&all);

	for (size_t at = 0; text && !err && at < all.length; at += strlen(text + at) + 1)
		if (is_passed(text + at))
			err = buf_append(strings, text + at, strlen(text + at) + 1);
	for (; !err && *settings; settings++)
		err = buf_append(strings, *settings, strlen(*settings) + 1);
	buf_free(&all);
	return err;
}

int initial_stack_read(struct initial_stack *stack, pid_t pid, char *const *settings)
{
	int err = tracee_read(pid, "auxv", &stack->auxiliary);

	return err ? err
		   : collect_strings(&stack->strings, pid,
				     !tracee_auxiliary_value(&stack->auxiliary, AT_SECURE),
				     settings);
}

/* The strings, an address for each, the auxiliary vector, and what ends each part. */
size_t initial_stack_bytes(const struct initial_stack *stack)
{
	return stack->strings.length * 9 + stack->auxiliary.length + 64;
}

/* (The program's privileges are not those of the settings.) */
static int block_add_auxiliary(struct buf *block, const struct buf *auxiliary)
{
	uint64_t pair[2];
	int err = 0;

	for (size_t at = 0; !err && at + sizeof(pair) <= auxiliary->length; at += sizeof(pair)) {
		memcpy(pair, auxiliary->data + at, sizeof(pair));
		if (pair[0] != AT_NULL && pair[0] != AT_SECURE)
			err = buf_append(block, pair, sizeof(pair));
	}
	if (!err)
		err = block_add(block, AT_NULL);
	return err ? err : block_add(block, 0);
}

/* The strings, and then what the kernel writes for a new program that has them as its environment, and no arguments. */
int initial_stack_write(struct initial_stack *stack, uintptr_t address)
{
	static const char padding[16];
	struct buf *block = &stack->block;
	const struct buf *strings = &stack->strings;
	int err = strings->length ? buf_append(block, strings->data, strings->length) : 0;

	if (!err)
		err = buf_append(block, padding, -block->length % sizeof(padding));
	stack->words = block->length;
	if (!err)
		err = block_add(block, 0); /* the number of arguments */
	if (!err)
		err = block_add(block, 0);
	if (!err)
		err = block_add_variables(block, strings, address);
	return err ? err : block_add_auxiliary(block, &stack->auxiliary);
}
