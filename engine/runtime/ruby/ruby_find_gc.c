/* Search for the counter of garbage collections, which has no symbol. The exported function
 * rb_gc_count() returns it. It consists of a few loads, each from the address that the previous one
 * returned; this code follows them. */
#include "engine/reading/process_memory.h"
#include "engine/runtime/ruby/ruby_find.h"

#define INSTRUCTIONS_MAX 24

struct follow {
	uintptr_t pc;
	uintptr_t value;  /* of the register with the return value */
	uintptr_t loaded; /* address that it was loaded from */
	uintptr_t base;   /* and the content of the base register at that time */
	uintptr_t back;   /* return address of the current function */
};

#if defined(__x86_64__)
static int32_t code_offset_at(const uint8_t *code)
{
	int32_t offset;

	__builtin_memcpy(&offset, code, sizeof(offset));
	return offset;
}

static bool follow_load(struct follow *f, uintptr_t address)
{
	f->base = f->value;
	f->loaded = address;
	return !process_memory_read(address, &f->value, sizeof(f->value));
}

static bool follow_begins(const uint8_t *code, const char *with, size_t length)
{
	return !__builtin_memcmp(code, with, length);
}

/* Execute the instruction at the pc of F. Returns false if such functions do not contain this instruction. */
static bool follow_step(struct follow *f)
{
	uint8_t code[8];
	uintptr_t next;

	if (process_memory_read(f->pc, code, sizeof(code)))
		return false;
	if (follow_begins(code, "\xf3\x0f\x1e\xfa", 4) || follow_begins(code, "\x48\x83\xec", 3) ||
	    follow_begins(code, "\x48\x83\xc4", 3)) {
		f->pc += 4;
		return true;
	}
	if (follow_begins(code, "\x48\x8b\x00", 3)) {
		f->pc += 3;
		return follow_load(f, f->value);
	}
	if (follow_begins(code, "\x48\x8b\x40", 3)) {
		f->pc += 4;
		return follow_load(f, f->value + (uintptr_t)(int8_t)code[3]);
	}
	if (follow_begins(code, "\x48\x8b\x80", 3)) {
		f->pc += 7;
		return follow_load(f, f->value + (uintptr_t)code_offset_at(code + 3));
	}
	if (follow_begins(code, "\x48\x8b\x05", 3)) {
		f->pc += 7;
		return follow_load(f, f->pc + (uintptr_t)code_offset_at(code + 3));
	}
	if (follow_begins(code, "\x48\x8d\x05", 3)) {
		f->pc += 7;
		f->value = f->pc + (uintptr_t)code_offset_at(code + 3);
		return true;
	}
	if (code[0] == 0xe9 || (code[0] == 0xe8 && !f->back)) {
		next = f->pc + 5;
		if (code[0] == 0xe8)
			f->back = next;
		f->pc = next + (uintptr_t)code_offset_at(code + 1);
		return true;
	}
	/* The form of calls to other modules. */
	next = code[0] == 0xf2 ? 1 : 0;
	if (code[next] == 0xff && code[next + 1] == 0x25) {
		f->pc += next + 6;
		return !process_memory_read(f->pc + (uintptr_t)code_offset_at(code + next + 2),
					    &f->pc, sizeof(f->pc));
	}
	return false;
}

static bool follow_returns(struct follow *f)
{
	uint8_t code;

	if (process_memory_read(f->pc, &code, 1) || code != 0xc3)
		return false;
	if (!f->back)
		return true;
	f->pc = f->back;
	f->back = 0;
	return false;
}
#else
static bool follow_step(struct follow *f)
{
	(void)f;
	return false;
}

static bool follow_returns(struct follow *f)
{
	(void)f;
	return false;
}
#endif

bool ruby_find_collections(struct ruby *ruby)
{
	struct follow f = { .pc = ruby->counts };

	for (int i = 0; f.pc && i < INSTRUCTIONS_MAX; i++) {
		if (!follow_returns(&f)) {
			if (!follow_step(&f))
				return false;
			continue;
		}
		/* The counter is in the collector's object, which does not exist at first. */
		if (!f.base || f.loaded % sizeof(uintptr_t) || f.loaded - f.base > UINT16_MAX)
			return false;
		ruby->collections = f.loaded;
		ruby->collector_flags = f.base + ruby->layout.collector_flags;
		return true;
	}
	return false;
}
