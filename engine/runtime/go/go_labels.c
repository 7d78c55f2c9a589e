/* Reads the labels of the calling thread's goroutine. Any data of the program may be invalid; all reads are checked. */
#include "engine/runtime/go/go_labels.h"

#include <stdatomic.h>

#include "engine/reading/memory_reader.h"
#include "engine/reading/program_thread.h"

/* More labels of a goroutine are left out. */
#define LABELS_MAX 32

/* Go's map before Go 1.24 (runtime/map.go): hmap.B, hmap.buckets; a bucket has 8 keys after a byte for each, then 8 values,
 * then the address of a further bucket. */
#define MAP_SHIFT    9
#define MAP_BUCKETS  16
#define BUCKET_CELLS 8u
#define BUCKET_BYTES (BUCKET_CELLS * (1 + 2 * sizeof(struct go_string)) + sizeof(uintptr_t))
/* A cell's byte below this one means that it has no entry (minTopHash). */
#define CELL_USED 5
/* The maps that WithLabels() makes of 32 labels have no more buckets. */
#define MAP_SHIFT_MAX 3

struct go_string {
	uintptr_t bytes;
	uint64_t length;
};

struct label_copy {
	struct memory_reader reader;
	char *out; /* NULL: only count */
	size_t size, max;
	uint32_t left; /* so many more labels are read */
};

static struct go_labels_layout layout;
static _Atomic bool is_found, have_labels;

void go_labels_use(const struct go_labels_layout *found)
{
	if (atomic_load(&is_found))
		return;
	layout = *found;
	atomic_store_explicit(&is_found, true, memory_order_release);
}

static bool read_word(struct label_copy *copy, uintptr_t address, uintptr_t *word)
{
	return memory_read(&copy->reader, word, address, sizeof(*word));
}

static bool copy_string(struct label_copy *copy, const struct go_string *string)
{
	char *to = copy->out + copy->size;

	if (!copy->out)
		return true;
	if (string->length && !memory_copy(to, string->bytes, string->length))
		return false;
	/* A NUL would end it early. */
	for (size_t i = 0; i < string->length; i++)
		to[i] = to[i] ? to[i] : ' ';
	to[string->length] = '\0';
	return true;
}

/* Returns false when no more labels can be read. */
static bool copy_label(struct label_copy *copy, const struct go_string *key,
		       const struct go_string *value)
{
	size_t room = copy->max - copy->size, before = copy->size;

	if (!copy->left--)
		return false;
	if (!key->length || !value->length || key->length >= room || value->length >= room ||
	    key->length + value->length + 2 > room)
		return true;
	if (!copy_string(copy, key))
		return false;
	copy->size += key->length + 1;
	if (!copy_string(copy, value)) {
		copy->size = before;
		return false;
	}
	copy->size += value->length + 1;
	return true;
}

static void copy_slice(struct label_copy *copy, uintptr_t slice)
{
	uintptr_t at, count;
	struct go_string label[2];

	if (!read_word(copy, slice, &at) || !read_word(copy, slice + sizeof(at), &count))
		return;
	for (; count; count--, at += sizeof(label))
		if (!memory_read(&copy->reader, label, at, sizeof(label)) ||
		    !copy_label(copy, &label[0], &label[1]))
			break;
}

static bool copy_bucket(struct label_copy *copy, uintptr_t bucket)
{
	uintptr_t keys = bucket + BUCKET_CELLS,
		  values = keys + BUCKET_CELLS * sizeof(struct go_string);
	struct go_string key, value;
	uint8_t used[BUCKET_CELLS];

	if (!memory_read(&copy->reader, used, bucket, sizeof(used)))
		return false;
	for (size_t i = 0; i < BUCKET_CELLS; i++)
		if (used[i] >= CELL_USED &&
		    (!memory_read(&copy->reader, &key, keys + i * sizeof(key), sizeof(key)) ||
		     !memory_read(&copy->reader, &value, values + i * sizeof(value),
				  sizeof(value)) ||
		     !copy_label(copy, &key, &value)))
			return false;
	return true;
}

/* While a map grows, and of overflowing buckets, some labels are left out: a map of labels is not changed any more. */
static void copy_map(struct label_copy *copy, uintptr_t address)
{
	uintptr_t map, buckets;
	uint8_t shift;

	if (!read_word(copy, address, &map) || !map ||
	    !memory_read(&copy->reader, &shift, map + MAP_SHIFT, sizeof(shift)) ||
	    !read_word(copy, map + MAP_BUCKETS, &buckets) || shift > MAP_SHIFT_MAX)
		return;
	for (size_t i = 0; i < (size_t)1 << shift; i++)
		if (!copy_bucket(copy, buckets + i * BUCKET_BYTES))
			break;
}

/* Returns 0 if the thread runs no goroutine. The goroutine names its machine, too: this finds a wrong layout. */
static uintptr_t find_goroutine(struct label_copy *copy)
{
	uintptr_t current =
		*(const volatile uintptr_t *)(program_thread_pointer() + (uintptr_t)layout.current);
	uintptr_t machine, user, machine_of_user;

	if (!current || !read_word(copy, current + layout.machine, &machine) || !machine ||
	    !read_word(copy, machine + layout.user, &user) || !user ||
	    !read_word(copy, user + layout.machine, &machine_of_user))
		return 0;
	return machine_of_user == machine ? user : 0;
}

size_t go_labels_copy(char *out, size_t max)
{
	struct memory_block block;
	struct label_copy copy = {
		.reader.block = &block, .out = out, .max = max, .left = LABELS_MAX
	};
	uintptr_t goroutine, labels;

	if (!atomic_load_explicit(&is_found, memory_order_acquire))
		return 0;
	memory_block_init(&block);
	goroutine = find_goroutine(&copy);
	if (!goroutine || !read_word(&copy, goroutine + layout.labels, &labels) || !labels)
		return 0;
	if (layout.is_map)
		copy_map(&copy, labels);
	else
		copy_slice(&copy, labels);
	if (copy.size)
		atomic_store_explicit(&have_labels, true, memory_order_relaxed);
	return copy.size;
}

bool go_labels_exist(void)
{
	return atomic_load_explicit(&have_labels, memory_order_relaxed);
}
