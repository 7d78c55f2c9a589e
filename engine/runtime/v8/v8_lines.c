/* Lines of scripts. V8 has a table of line ends for scripts whose lines were requested before. For
 * other scripts, line ends are counted, and the count is stored at regular steps. So a long script
 * is scanned only once, and no sample scans much of it. */
#include <stdatomic.h>
#include <string.h>

#include "engine/runtime/v8/v8.h"

#define STEP  V8_STEP
#define STEPS V8_STEPS
#define PACE  8 /* steps that one sample counts at most */

/* ---- Counting ---- */

/* Bytes of WORD that equal VALUE: the highest bit of each is set. */
static uint64_t bytes_equal(uint64_t word, uint8_t value)
{
	uint64_t x = word ^ (0x0101010101010101u * value);

	return ~(((x & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu) | x | 0x7f7f7f7f7f7f7f7fu);
}

static bool ends_line(const uint8_t *text, size_t i, bool wide)
{
	uint16_t c = text[i], next;

	if (wide) {
		c = (uint16_t)(text[2 * i] | text[2 * i + 1] << 8);
		next = (uint16_t)(text[2 * i + 2] | text[2 * i + 3] << 8);
	} else {
		next = text[i + 1];
	}
	return c == '\n' || (c == '\r' && next != '\n') || c == 0x2028 || c == 0x2029;
}

#define BLOCK 512

/* Count the lines that end from FROM to TO. Returns false if the text cannot be read. */
static bool count_ends(struct v8_work *work, const struct v8_flat *flat, uint32_t from, uint32_t to,
		       uint32_t *ends)
{
	uint8_t text[BLOCK + 2 * sizeof(uint64_t)];
	uint32_t per_block = flat->is_wide ? BLOCK / 2 : BLOCK, part, more;
	uint64_t word;

	for (*ends = 0; from < to; from += part) {
		part = to - from < per_block ? to - from : per_block;
		/* The next character may be the other half of a line end. */
		more = from + part < flat->length;
		memset(text + ((size_t)part << flat->is_wide), 0, 2 * sizeof(uint64_t));
		if (!v8_copy(work, text, flat->at + ((uintptr_t)from << flat->is_wide),
			     (size_t)(part + more) << flat->is_wide))
			return false;
		for (uint32_t i = 0; i < part;) {
			if (!flat->is_wide && part - i >= sizeof(word)) {
				memcpy(&word, text + i, sizeof(word));
				if (!bytes_equal(word, '\r')) {
					*ends += (uint32_t)__builtin_popcountll(
						bytes_equal(word, '\n'));
					i += sizeof(word);
					continue;
				}
			}
			*ends += ends_line(text, i, flat->is_wide);
			i++;
		}
	}
	return true;
}

/* Continue the count in SCRIPT, whose source is FLAT, up to POSITION if that is near enough. */
static void script_count_until(struct v8_work *work, struct v8_counted *script,
			       const struct v8_flat *flat, uint32_t position)
{
	uint32_t known = atomic_load_explicit(&script->known, memory_order_relaxed), ends;

	for (int i = 0; i < PACE && known < position / STEP && known < STEPS; i++) {
		if (!count_ends(work, flat, known * STEP, (known + 1) * STEP, &ends))
			break;
		atomic_store_explicit(
			&script->before[known + 1],
			atomic_load_explicit(&script->before[known], memory_order_relaxed) + ends,
			memory_order_relaxed);
		known++;
	}
	atomic_store_explicit(&script->known, known, memory_order_relaxed);
}

/* Number of lines that end before POSITION. Returns false if it is not known yet. */
static bool line_ends_before(struct v8_work *work, const struct v8_flat *flat, uint64_t key,
			     uint32_t position, uint32_t *ends)
{
	struct v8_counted *script =
		&v8_memory->scripts[(key * 0x9e3779b97f4a7c15u) >> (64 - V8_SCRIPT_BITS)];
	uint32_t step = position / STEP, before;

	if (position > flat->length || step > STEPS)
		return false;
	if (!step)
		return count_ends(work, flat, 0, position, ends);
	if (atomic_flag_test_and_set_explicit(&script->busy, memory_order_acquire))
		return false;
	if (atomic_load_explicit(&script->key, memory_order_relaxed) != key) {
		atomic_store_explicit(&script->key, key, memory_order_relaxed);
		atomic_store_explicit(&script->known, 0, memory_order_relaxed);
	}
	script_count_until(work, script, flat, position);
	before = atomic_load_explicit(&script->before[step], memory_order_relaxed);
	if (atomic_load_explicit(&script->known, memory_order_relaxed) < step)
		step = 0;
	atomic_flag_clear_explicit(&script->busy, memory_order_release);
	if (!step || !count_ends(work, flat, step * STEP, position, ends))
		return false;
	*ends += before;
	return true;
}

/* ---- Tables ---- */

/* Same, from V8's own table. Returns false if there is none. */
static bool line_ends_from_table(const struct v8 *v8, struct v8_work *work, uintptr_t script,
				 uint32_t position, uint32_t *ends)
{
	uintptr_t table =
		v8_field(v8, work, script + v8->layout.script_line_ends, v8->layout.fixed_array);
	uintptr_t word;
	uint32_t low = 0, high, middle;

	if (!table || !v8_read_word(work, table + 8, &word) || !v8_is_small_integer(word) ||
	    v8_small_integer(word) <= 0)
		return false;
	high = (uint32_t)v8_small_integer(word);
	while (low < high) {
		middle = low + (high - low) / 2;
		if (!v8_read_word(work, table + 16 + 8 * (uintptr_t)middle, &word) ||
		    !v8_is_small_integer(word))
			return false;
		if ((uint32_t)v8_small_integer(word) < position)
			low = middle + 1;
		else
			high = middle;
	}
	*ends = low;
	return true;
}

/* Key of a script: its number, which is unique within an isolate, and its content. */
static uint64_t script_key(struct v8_work *work, const struct v8_flat *flat, int32_t id)
{
	uint64_t key = (uint64_t)(uint32_t)id << 32 | flat->length, word;
	uintptr_t bytes = (uintptr_t)flat->length << flat->is_wide;

	for (uintptr_t at = 0; at + sizeof(word) <= bytes; at += bytes / 8 + sizeof(word)) {
		if (!v8_copy(work, &word, flat->at + at, sizeof(word)))
			break;
		key = (key ^ word) * 0x9e3779b97f4a7c15u;
		key ^= key >> 29;
	}
	return key ? key : 1;
}

uint32_t v8_line(const struct v8 *v8, struct v8_work *work, uintptr_t script, int32_t position)
{
	const struct v8_layout *l = &v8->layout;
	uintptr_t first, id, source;
	struct v8_flat flat;
	uint32_t ends;
	int64_t line;

	if (position < 0 || !v8_read_word(work, script + l->script_line_offset, &first) ||
	    !v8_is_small_integer(first))
		return 0;
	if (!line_ends_from_table(v8, work, script, (uint32_t)position, &ends)) {
		if (!v8_read_word(work, script + l->script_id, &id) ||
		    !v8_read_word(work, script + l->script_source, &source) ||
		    !v8_flat(v8, work, source, &flat) ||
		    !line_ends_before(work, &flat, script_key(work, &flat, v8_small_integer(id)),
				      (uint32_t)position, &ends))
			return 0;
	}
	line = (int64_t)v8_small_integer(first) + ends + 1;
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}
