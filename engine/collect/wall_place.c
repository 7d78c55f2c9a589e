/* Recognizes, without a signal, that a thread waits again in the stack of its last sample. */
#include "engine/collect/wall_place.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/reading/process_memory.h"

/* A handler finds the pc at the call again if the kernel will restart it. */
static bool is_in_call(uintptr_t pc, const struct wall_place *place)
{
	return pc == place->pc || pc == place->pc - ARCH_SYSTEM_CALL_BYTES;
}

/* Old copies of return addresses are words too: which one is in use is not known. */
#define WORDS_MAX 256

#define PAGE 4096

static unsigned copies;

static void copy_free(struct wall_place *place)
{
	copies -= place->copy != NULL;
	free(place->copy);
	place->copy = NULL;
}

void wall_place_clear(struct wall_place *place)
{
	copy_free(place);
	free(place->words);
	*place = (struct wall_place){ 0 };
}

/* Copy memory from ADDRESS to the first page that cannot be read, at most the whole of TO. Returns its size. */
static size_t copy_readable(char to[WALL_PLACE_BYTES_MAX], uintptr_t address)
{
	size_t done = 0, size = PAGE - address % PAGE;

	while (size && !process_memory_read(address + done, to + done, size)) {
		done += size;
		size = WALL_PLACE_BYTES_MAX - done < PAGE ? WALL_PLACE_BYTES_MAX - done : PAGE;
	}
	return done;
}

void wall_place_see(struct wall_place *place, const struct wait *wait)
{
	wall_place_clear(place);
	if (!wait->pc || wait->sp % sizeof(uintptr_t) || copies >= WALL_PLACE_COPIES_MAX)
		return;
	*place = (struct wall_place){ .number = wait->number, .sp = wait->sp, .pc = wait->pc };
	place->copy = malloc(WALL_PLACE_BYTES_MAX);
	if (!place->copy)
		return;
	copies++;
	place->bytes = (uint32_t)copy_readable((char *)place->copy, wait->sp);
}

static bool is_return_address(uintptr_t word, const uintptr_t *pcs, size_t depth)
{
	for (size_t frame = 1; frame < depth; frame++)
		if (pcs[frame] == word)
			return true;
	return false;
}

static bool is_found(uintptr_t address, const struct wall_place_word *words, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (words[i].value == address)
			return true;
	return false;
}

/* Set PLACE's count of WORDS that are return addresses of PCS. Returns false if a frame has none, or there are too many. */
static bool words_find(struct wall_place *place, struct wall_place_word words[WORDS_MAX],
		       const uintptr_t *pcs, size_t depth)
{
	for (uint32_t i = 0; i < place->bytes / sizeof(uintptr_t); i++) {
		if (!is_return_address(place->copy[i], pcs, depth))
			continue;
		if (place->count == WORDS_MAX)
			return false;
		words[place->count++] = (struct wall_place_word){ i, place->copy[i] };
	}
	for (size_t frame = 1; frame < depth; frame++)
		if (!is_found(pcs[frame], words, place->count))
			return false;
	return place->count;
}

void wall_place_learn(struct wall_place *place, struct wall_place *seen, const uintptr_t *pcs,
		      size_t depth)
{
	struct wall_place_word words[WORDS_MAX];
	size_t bytes;

	wall_place_clear(place);
	*place = *seen;
	*seen = (struct wall_place){ 0 };
	if (place->copy && depth && depth <= WALL_PLACE_FRAMES_MAX && is_in_call(pcs[0], place) &&
	    words_find(place, words, pcs, depth)) {
		bytes = place->count * sizeof(*words);
		place->words = malloc(bytes);
		if (place->words)
			memcpy(place->words, words, bytes);
		place->bytes = (words[place->count - 1].index + 1) * (uint32_t)sizeof(uintptr_t);
	}
	copy_free(place);
}

bool wall_place_is_same(const struct wall_place *place, const struct wait *wait)
{
	static uintptr_t stack[WALL_PLACE_BYTES_MAX / sizeof(uintptr_t)];

	if (!place->words || wait->number != place->number || wait->sp != place->sp ||
	    wait->pc != place->pc || process_memory_read(place->sp, stack, place->bytes))
		return false;
	for (uint32_t i = 0; i < place->count; i++)
		if (stack[place->words[i].index] != place->words[i].value)
			return false;
	return true;
}
