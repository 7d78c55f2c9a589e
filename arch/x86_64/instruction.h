/* Decoder of x86-64 instructions: their length, and what they do to the general registers. Async-signal-safe. */
#ifndef ARCH_X86_64_INSTRUCTION_H
#define ARCH_X86_64_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Registers by their numbers in machine code. */
enum { REGISTER_AX, REGISTER_CX, REGISTER_DX, REGISTER_BX, REGISTER_SP, REGISTER_BP };
#define REGISTER_BIT(number) (1u << (number))

enum instruction_flow {
	FLOW_NEXT,   /* the next instruction follows */
	FLOW_BRANCH, /* a conditional jump: the next instruction follows, or the one at TARGET */
	FLOW_LEAVE,  /* a call, a jump, a return or a trap */
};

/* What the instruction writes to register TO. */
enum instruction_source {
	SOURCE_OTHER,
	SOURCE_CONSTANT, /* VALUE */
	SOURCE_REGISTER, /* register FROM, of which 32 bits may be taken */
	SOURCE_MEMORY, /* memory at VALUE bytes from register FROM, of which 32 bits may be taken */
};

struct instruction {
	unsigned length;
	enum instruction_flow flow;
	enum instruction_source source;
	uint8_t to, from;
	int32_t value;
	/* Bits of the general registers that it may write. A change of the stack pointer that is in STACK has no bit. */
	uint16_t writes;
	int32_t stack;   /* is added to the stack pointer */
	bool has_target; /* of the jump or call, relative to the end of the instruction */
	int32_t target;
};

/* Decode the instruction at CODE, of which SIZE bytes are readable. Returns false if it is not known. */
bool instruction_decode(struct instruction *out, const uint8_t *code, size_t size);

#endif
