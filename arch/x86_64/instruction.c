/* Decoder of x86-64 instructions. Source: Intel's Software Developer's Manual, volume 2, appendix A. */
#include "arch/x86_64/instruction.h"

#include <string.h>

#define ALL_REGISTERS 0xffffu

/* Operands of the opcodes, a row for 16 of them. m: a ModR/M byte; b and w: also a constant of one byte, or of the
 * operand's size; i and I: only that constant; r and R: a distance of one or four bytes; q: a constant of up to eight
 * bytes; a: eight bytes; s: two bytes; g and G: as b or m, and as w or m; x: not known, or a prefix. */
static const char one_byte[] = "mmmmiIxxmmmmiIxx"
			       "mmmmiIxxmmmmiIxx"
			       "mmmmiIxxmmmmiIxx"
			       "mmmmiIxxmmmmiIxx"
			       "xxxxxxxxxxxxxxxx"
			       "................"
			       "xxxmxxxxIwib...."
			       "rrrrrrrrrrrrrrrr"
			       "bwxbmmmmmmmmmmmm"
			       "..........x....."
			       "aaaa....iI......"
			       "iiiiiiiiqqqqqqqq"
			       "bbs.xxbwx.xx.ix."
			       "mmmmxxx.mmmmmmmm"
			       "rrrriiiiRRxr...."
			       "x.xx..gG......mm";

/* After 0f. */
static const char two_bytes[] = "mmmmx.....x.xm.b"
				"mmmmmmmmmmmmmmmm"
				"mmmmxxxxmmmmmmmm"
				"......x.xxxxxxxx"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"bbbbmmm.mmmmmmmm"
				"RRRRRRRRRRRRRRRR"
				"mmmmmmmmmmmmmmmm"
				"...mbmxx...mbmmm"
				"mmmmmmmmmmbmmmmm"
				"mmbmbbbm........"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm";

/* What these write. n: no general register (vector registers, hints); r: the register of the ModR/M byte; m: its other operand;
 * *: any. */
static const char two_bytes_write[] = "*************n**"
				      "nnnnnnnnnnnnnnnn"
				      "****nnnnnnnn**nn"
				      "****************"
				      "rrrrrrrrrrrrrrrr"
				      "*nnnnnnnnnnnnnnn"
				      "nnnnnnnnnnnnnnnn"
				      "nnnnnnnnnnnnnnmn"
				      "nnnnnnnnnnnnnnnn"
				      "mmmmmmmmmmmmmmmm"
				      "***************r"
				      "******rr******rr"
				      "**n***n*********"
				      "nnnnnnn*nnnnnnnn"
				      "nnnnnnnnnnnnnnnn"
				      "nnnnnnnnnnnnnnnn";

_Static_assert(sizeof(one_byte) == 257 && sizeof(two_bytes) == 257 &&
		       sizeof(two_bytes_write) == 257,
	       "one letter for each opcode");

/* Numbers of the tables of opcodes, as the vector prefixes have them. */
enum map { MAP_ONE_BYTE, MAP_0F, MAP_0F38, MAP_0F3A };

/* An instruction that is being decoded. */
struct decoding {
	const uint8_t *code;
	size_t at, size;
	unsigned rex; /* four bits: wide operand, and more registers for reg, index and rm */
	bool is_narrow,
		is_elsewhere; /* the operand has 16 bits; memory is relative to another segment */
	enum map map;
	uint8_t opcode, mod, reg, rm;
	bool has_base; /* the memory operand is DISPLACEMENT bytes from register RM */
	int32_t displacement;
	struct instruction *out;
};

static bool read_bytes(struct decoding *d, void *value, size_t bytes)
{
	if (bytes > d->size - d->at)
		return false;
	for (size_t i = 0; i < bytes; i++)
		((uint8_t *)value)[i] = d->code[d->at++];
	return true;
}

/* A signed number of at most four bytes. */
static bool read_number(struct decoding *d, size_t bytes, int32_t *value)
{
	uint32_t bits = 0;

	if (!read_bytes(d, &bits, bytes))
		return false;
	*value = (int32_t)(bits << (32 - 8 * bytes)) >> (32 - 8 * bytes);
	return true;
}

static bool read_modrm(struct decoding *d)
{
	uint8_t modrm, sib;
	bool no_base;

	if (!read_bytes(d, &modrm, 1))
		return false;
	d->mod = modrm >> 6;
	d->reg = (uint8_t)((modrm >> 3 & 7) | (d->rex & 4) << 1);
	d->rm = (uint8_t)((modrm & 7) | (d->rex & 1) << 3);
	if (d->mod == 3)
		return true;
	no_base = !d->mod && (modrm & 7) == 5;
	d->has_base = !no_base && !d->is_elsewhere;
	if ((modrm & 7) == 4) {
		if (!read_bytes(d, &sib, 1))
			return false;
		d->rm = (uint8_t)((sib & 7) | (d->rex & 1) << 3);
		no_base = !d->mod && (sib & 7) == 5;
		/* 4 is no index. */
		d->has_base &= !no_base && (sib >> 3 & 7) == 4 && !(d->rex & 2);
	}
	if (d->mod == 1)
		return read_number(d, 1, &d->displacement);
	return !(d->mod == 2 || no_base) || read_number(d, 4, &d->displacement);
}

static bool read_operands(struct decoding *d, char kind)
{
	size_t word = d->is_narrow ? 2 : 4;
	int32_t *value = &d->out->value;
	uint64_t wide;

	bool has_modrm = kind == 'm' || kind == 'b' || kind == 'w' || kind == 'g' || kind == 'G';

	if (has_modrm && !read_modrm(d))
		return false;
	switch (kind) {
	case 'b':
	case 'i':
	case 'r':
		return read_number(d, 1, value);
	case 'R':
		return read_number(d, 4, value);
	case 's':
		return read_number(d, 2, value);
	case 'w':
	case 'I':
		return read_number(d, word, value);
	case 'q':
		return d->rex & 8 ? read_bytes(d, &wide, 8) : read_number(d, word, value);
	case 'a':
		return read_bytes(d, &wide, 8);
	case 'g':
		return (d->reg & 7) >= 2 || read_number(d, 1, value);
	case 'G':
		return (d->reg & 7) >= 2 || read_number(d, word, value);
	default:
		return kind != 'x';
	}
}

static void set_source(struct instruction *out, enum instruction_source source, uint8_t to,
		       uint8_t from)
{
	out->source = source;
	out->to = to;
	out->from = from;
	out->writes = (uint16_t)REGISTER_BIT(to);
}

/* Operands of one byte have even opcodes. They may be the second byte of the first four registers. */
static uint16_t bits_of(const struct decoding *d, uint8_t number)
{
	return (uint16_t)(REGISTER_BIT(number) | (d->opcode & 1 ? 0 : REGISTER_BIT(number & 3)));
}

static uint16_t rm_bits(const struct decoding *d)
{
	return d->mod == 3 ? bits_of(d, d->rm) : 0;
}

/* Opcodes 00 to 3f. */
static void describe_arithmetic(struct decoding *d)
{
	bool is_cmp = d->opcode >> 3 == 7, is_xor = d->opcode >> 3 == 6;

	if (is_cmp)
		return;
	if ((d->opcode & 7) >= 4)
		d->out->writes = REGISTER_BIT(REGISTER_AX);
	else
		d->out->writes = d->opcode & 2 ? bits_of(d, d->reg) : rm_bits(d);
	if (is_xor && (d->opcode & 5) == 1 && d->mod == 3 && d->reg == d->rm && !d->is_narrow) {
		set_source(d->out, SOURCE_CONSTANT, d->rm, 0);
		d->out->value = 0;
	}
}

/* Opcodes 80, 81 and 83. */
static void describe_arithmetic_by_constant(struct decoding *d)
{
	unsigned operation = d->reg & 7;
	bool is_add = operation == 0, is_sub = operation == 5, is_cmp = operation == 7;

	if (d->mod == 3 && d->rm == REGISTER_SP && d->rex & 8 && (is_add || is_sub))
		d->out->stack = is_add ? d->out->value : -d->out->value;
	else if (!is_cmp)
		d->out->writes = rm_bits(d);
}

static void describe_move(struct decoding *d)
{
	uint8_t number = (uint8_t)((d->opcode & 7) | (d->rex & 1) << 3);
	struct instruction *out = d->out;

	if (d->opcode == 0x88 || d->opcode == 0x89 || d->opcode == 0xc6 || d->opcode == 0xc7)
		out->writes = rm_bits(d);
	else if (d->opcode < 0xb0) /* 63, 8a, 8b, 8d */
		out->writes = bits_of(d, d->reg);
	else
		out->writes = (uint16_t)(REGISTER_BIT(number) | REGISTER_BIT(number & 3));
	if (d->is_narrow)
		return;
	if (d->opcode == 0x89 && d->mod == 3)
		set_source(out, SOURCE_REGISTER, d->rm, d->reg);
	else if ((d->opcode == 0x8b || d->opcode == 0x63) && d->mod == 3)
		set_source(out, SOURCE_REGISTER, d->reg, d->rm);
	else if (d->opcode == 0x8b && d->has_base) {
		set_source(out, SOURCE_MEMORY, d->reg, d->rm);
		out->value = d->displacement;
	} else if (d->opcode == 0xc7 && d->mod == 3)
		set_source(out, SOURCE_CONSTANT, d->rm, 0);
	else if (d->opcode >= 0xb8 && d->opcode <= 0xbf && !(d->rex & 8))
		set_source(out, SOURCE_CONSTANT, number, 0);
}

static void describe_stack(struct decoding *d)
{
	bool is_pop = d->opcode >= 0x58 && d->opcode <= 0x5f;

	d->out->stack = is_pop ? 8 : -8;
	if (is_pop)
		d->out->writes = (uint16_t)REGISTER_BIT((d->opcode & 7) | (d->rex & 1) << 3);
}

/* Opcodes f6 and f7: test, not, neg, and the multiplications and divisions of ax and dx. */
static void describe_unary(struct decoding *d)
{
	unsigned operation = d->reg & 7;

	if (operation >= 4)
		d->out->writes = REGISTER_BIT(REGISTER_AX) | REGISTER_BIT(REGISTER_DX);
	else if (operation >= 2)
		d->out->writes = rm_bits(d);
}

/* Opcode ff. */
static void describe_group(struct decoding *d)
{
	unsigned operation = d->reg & 7;

	if (operation < 2)
		d->out->writes = rm_bits(d);
	else if (operation == 6)
		d->out->stack = -8;
	else
		d->out->flow = FLOW_LEAVE;
}

static void describe_jump(struct decoding *d, enum instruction_flow flow)
{
	d->out->flow = flow;
	d->out->has_target = true;
	d->out->target = d->out->value;
}

static bool is_one_of(uint8_t opcode, const char *opcodes, size_t count)
{
	return memchr(opcodes, opcode, count) != NULL;
}

static void describe_one_byte(struct decoding *d)
{
	uint8_t opcode = d->opcode;

	if (opcode < 0x40)
		describe_arithmetic(d);
	else if ((opcode & 0xf0) == 0x50 || opcode == 0x68 || opcode == 0x6a)
		describe_stack(d);
	else if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83)
		describe_arithmetic_by_constant(d);
	else if ((opcode & 0xf0) == 0xb0 ||
		 is_one_of(opcode, "\x63\x88\x89\x8a\x8b\x8d\xc6\xc7", 8))
		describe_move(d);
	else if (opcode == 0xf6 || opcode == 0xf7)
		describe_unary(d);
	else if (opcode == 0xff)
		describe_group(d);
	else if (is_one_of(opcode, "\xc0\xc1\xd0\xd1\xd2\xd3\xfe", 7)) /* shifts, inc, dec */
		d->out->writes = rm_bits(d);
	else if (opcode == 0x69 || opcode == 0x6b) /* imul */
		d->out->writes = (uint16_t)REGISTER_BIT(d->reg);
	else if (opcode == 0x98 || opcode == 0x99) /* cltq, cqto */
		d->out->writes = (uint16_t)REGISTER_BIT(opcode == 0x98 ? REGISTER_AX : REGISTER_DX);
	else if ((opcode & 0xf0) == 0x70)
		describe_jump(d, FLOW_BRANCH);
	else if (is_one_of(opcode, "\xe8\xe9\xeb", 3))
		describe_jump(d, FLOW_LEAVE);
	else if (is_one_of(opcode, "\xc2\xc3\xcc\xcd\xf4", 5)) /* ret, int3, int, hlt */
		d->out->flow = FLOW_LEAVE;
	else if (opcode == 0x90 && d->rex & 1) /* xchg */
		d->out->writes = ALL_REGISTERS;
	else if (!is_one_of(opcode, "\x84\x85\x90\xa8\xa9", 5)) /* test, nop */
		d->out->writes = ALL_REGISTERS;
	if ((opcode & 0xfc) == 0xe0) /* loop */
		describe_jump(d, FLOW_BRANCH);
}

static void describe_two_bytes(struct decoding *d)
{
	char writes = two_bytes_write[d->opcode];

	if (writes == 'r')
		d->out->writes = (uint16_t)REGISTER_BIT(d->reg);
	else if (writes == 'm' && d->mod == 3)
		d->out->writes = (uint16_t)(REGISTER_BIT(d->rm) | REGISTER_BIT(d->rm & 3));
	else if (writes == '*')
		d->out->writes = ALL_REGISTERS;
	if ((d->opcode & 0xf0) == 0x80)
		describe_jump(d, FLOW_BRANCH);
	if (d->opcode == 0x05 || d->opcode == 0x0b) /* syscall, ud2 */
		d->out->flow = FLOW_LEAVE;
}

static void read_prefixes(struct decoding *d)
{
	for (; d->at < d->size; d->at++) {
		switch (d->code[d->at]) {
		case 0x66:
			d->is_narrow = true;
			continue;
		case 0x64:
		case 0x65:
		case 0x67:
			d->is_elsewhere = true;
			continue;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0xf0:
		case 0xf2:
		case 0xf3:
			continue;
		}
		break;
	}
	if (d->at < d->size && (d->code[d->at] & 0xf0) == 0x40)
		d->rex = d->code[d->at++] & 15;
	d->is_narrow &= !(d->rex & 8);
}

/* The vector prefixes of 2, 3 and 4 bytes: they have the table, and the other registers' bits inverted. */
static bool read_vector(struct decoding *d, size_t bytes)
{
	uint8_t payload[3];

	if (!read_bytes(d, payload, bytes) || !read_bytes(d, &d->opcode, 1))
		return false;
	d->map = bytes == 1 ? MAP_0F : (enum map)(payload[0] & (bytes == 2 ? 31 : 7));
	d->rex = (unsigned)~payload[0] >> 5 & (bytes == 1 ? 4 : 7);
	return d->map >= MAP_0F && d->map <= MAP_0F3A;
}

static bool read_opcode(struct decoding *d)
{
	if (!read_bytes(d, &d->opcode, 1))
		return false;
	if (d->opcode == 0xc5 || d->opcode == 0xc4 || d->opcode == 0x62)
		return read_vector(d, d->opcode == 0xc5 ? 1 : d->opcode == 0xc4 ? 2 : 3);
	if (d->opcode != 0x0f)
		return true;
	d->map = MAP_0F;
	if (!read_bytes(d, &d->opcode, 1))
		return false;
	if (d->opcode != 0x38 && d->opcode != 0x3a)
		return true;
	d->map = d->opcode == 0x38 ? MAP_0F38 : MAP_0F3A;
	return read_bytes(d, &d->opcode, 1);
}

bool instruction_decode(struct instruction *out, const uint8_t *code, size_t size)
{
	struct decoding d = { .code = code, .size = size, .out = out };
	char kind;

	*out = (struct instruction){ 0 };
	read_prefixes(&d);
	if (!read_opcode(&d))
		return false;
	kind = d.map == MAP_ONE_BYTE ? one_byte[d.opcode]
	       : d.map == MAP_0F     ? two_bytes[d.opcode]
	       : d.map == MAP_0F38   ? 'm'
				     : 'b';
	if (!read_operands(&d, kind))
		return false;
	out->length = (unsigned)d.at;
	if (d.map == MAP_ONE_BYTE)
		describe_one_byte(&d);
	else if (d.map == MAP_0F)
		describe_two_bytes(&d);
	else
		out->writes = ALL_REGISTERS;
	return true;
}
