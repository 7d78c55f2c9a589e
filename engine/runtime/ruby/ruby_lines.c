/* Lines of Ruby's code. A table has a line for each range of instructions. An index has one bit per
 * word, set where a range starts, and counts to limit the search ("succinct bit vector", iseq.c). */
#include <string.h>

#include "engine/runtime/ruby/ruby.h"

/* The first words have separate counts: fields of seven bits, nine in a word. */
#define FIRST_WORDS   54
#define FIRST_FIELDS  9
#define FIRST_BITS    7
#define BLOCKS_OFFSET 48

/* The other words are in blocks: the number of bits before the block; before each of its words; the words. */
#define BLOCK_WORDS  512
#define BLOCK_BYTES  80
#define BLOCK_COUNTS 8
#define BLOCK_BITS   16
#define COUNT_BITS   9

static bool stretch_at(struct ruby_work *work, uintptr_t index, uint64_t at, uint32_t *stretch)
{
	uint8_t block[BLOCK_BYTES];
	uintptr_t word;
	uint32_t before;
	unsigned part;

	if (at < FIRST_WORDS) {
		if (!ruby_read_word(work, index + at / FIRST_FIELDS * sizeof(word), &word))
			return false;
		*stretch = (uint32_t)(word >> at % FIRST_FIELDS * FIRST_BITS) &
			   ((1u << FIRST_BITS) - 1);
		return true;
	}
	at -= FIRST_WORDS;
	if (!ruby_copy(work, block, index + BLOCKS_OFFSET + at / BLOCK_WORDS * BLOCK_BYTES,
		       sizeof(block)))
		return false;
	at %= BLOCK_WORDS;
	part = (unsigned)(at / 64);
	memcpy(&before, block, sizeof(before));
	if (part)
		before += (uint32_t)(word_at(block, BLOCK_COUNTS) >> (part - 1) * COUNT_BITS) &
			  ((1u << COUNT_BITS) - 1);
	word = word_at(block, BLOCK_BITS + part * 8) << (63 - at % 64);
	for (; word; word &= word - 1)
		before++;
	*stretch = before;
	return true;
}

uint32_t ruby_line(const struct ruby_layout *layout, struct ruby_work *work,
		   const uint8_t body[BODY_BYTES], uint64_t at)
{
	uintptr_t lines = word_at(body, layout->body_lines);
	uint32_t count, stretch = 1;
	int32_t line;

	memcpy(&count, body + layout->body_line_count, sizeof(count));
	if (count > 1 && !stretch_at(work, word_at(body, layout->body_line_index), at, &stretch))
		return 0;
	if (!stretch || stretch > count ||
	    !ruby_copy(work, &line, lines + (uintptr_t)(stretch - 1) * layout->line_bytes,
		       sizeof(line)))
		return 0;
	return line > 0 ? (uint32_t)line : 0;
}
