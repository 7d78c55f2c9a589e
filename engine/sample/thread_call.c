/* System call that a thread was last seen in. */
#include "engine/sample/thread_call.h"

#include "core/text/hex.h"

void thread_call_write(struct thread_call_note *note, const struct thread_call *call)
{
	uint32_t version = atomic_load_explicit(&note->version, memory_order_relaxed);

	atomic_store_explicit(&note->version, version + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	note->call = *call;
	atomic_store_explicit(&note->version, version + 2, memory_order_release);
}

bool thread_call_read(const struct thread_call_note *note, struct thread_call *call)
{
	uint32_t version = atomic_load_explicit(&note->version, memory_order_acquire);

	*call = note->call;
	atomic_thread_fence(memory_order_acquire);
	return !(version & 1) &&
	       version == atomic_load_explicit(&note->version, memory_order_relaxed);
}

/* Parse a number at *TEXT, and move *TEXT to the end of the word. */
static bool parse_word(const char **text, unsigned base, uintptr_t *value)
{
	const char *at = *text;
	int digit;

	*value = 0;
	if (base == 16 && at[0] == '0' && at[1] == 'x')
		at += 2;
	if (hex_lower_digit(*at) < 0)
		return false;
	for (; (digit = hex_lower_digit(*at)) >= 0; at++) {
		if ((unsigned)digit >= base || *value > (UINTPTR_MAX - (unsigned)digit) / base)
			return false;
		*value = *value * base + (unsigned)digit;
	}
	*text = at + (*at == ' ');
	return *at == ' ' || *at == '\n' || !*at;
}

bool thread_call_parse(struct thread_call *call, const char *text)
{
	uintptr_t number;

	if (!parse_word(&text, 10, &number) || number > INT32_MAX)
		return false;
	call->number = (long)number;
	for (int i = 0; i < THREAD_CALL_ARGUMENTS; i++)
		if (!parse_word(&text, 16, &call->arguments[i]))
			return false;
	return parse_word(&text, 16, &call->sp) && parse_word(&text, 16, &call->pc) && call->pc;
}
