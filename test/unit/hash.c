/* Hash tables of the readers: recordings cannot choose keys that collide, and the order of the output has no seed. */

#include "profile/aggregate/heap.h"
#include "profile/aggregate/tally.h"
#include "profile/basics/hash.h"
#include "profile/jfr/jfr_parsed.h"
#include "test/fixtures/suite.h"

#define KEYS 20000

/* Returns the key whose product with the multiplier is VALUE: a small one has zeros in its upper half. */
static uint64_t key_of_product(uint64_t value)
{
	uint64_t inverse = 1;

	for (int i = 0; i < 6; i++) /* Newton's method */
		inverse *= 2 - 0x9E3779B97F4A7C15u * inverse;
	return value * inverse;
}

static uint64_t key_with_high_bits(uint64_t value)
{
	return value << 48;
}

static uint64_t key_in_turn(uint64_t value)
{
	return value;
}

static uint64_t (*const make_key[])(uint64_t value) = {
	key_of_product,
	key_with_high_bits,
	key_in_turn,
};

/* Linear probing puts keys that collide into one row of slots. */
START_TEST(constants_are_spread)
{
	struct jfr_pool pool = { .capacity = 1 << 16 };
	size_t row = 0, longest = 0, slot;

	pool.table = calloc(pool.capacity, sizeof(*pool.table));
	ck_assert_ptr_nonnull(pool.table);
	for (uint64_t i = 1; i <= KEYS; i++) {
		slot = jfr_pool_slot(&pool, make_key[_i](i));
		pool.table[slot] = (struct jfr_constant){ .key = make_key[_i](i), .at = 1 };
	}
	for (size_t i = 0; i < pool.capacity; i++) {
		row = pool.table[i].at ? row + 1 : 0;
		longest = row > longest ? row : longest;
	}
	ck_assert_uint_lt(longest, 500);
	free(pool.table);
}
END_TEST

/* With a 64-bit product, the second word could undo the difference of the first, with any seed. */
START_TEST(words_do_not_undo_a_difference)
{
	uint64_t high = UINT64_C(1) << 63;
	uint64_t a = hash_add(hash_start(), 1), b = hash_add(hash_start(), 1 ^ high);

	ck_assert_uint_ne(hash_add(a, 2), hash_add(b, 2 ^ high ^ high >> 32));
	ck_assert_uint_ne(hash_add(a, 2), hash_add(b, 2 ^ high));
}
END_TEST

static void add_sample(struct tallies *tallies, uint64_t stack)
{
	struct tally *tally = tallies_get(tallies, &(struct tally_key){ .stack = stack });

	ck_assert_ptr_nonnull(tally);
	tally->count++;
}

START_TEST(samples_stay_in_order)
{
	struct tallies tallies = { 0 };

	for (uint64_t chunk = 1; chunk <= 3; chunk++) {
		uint64_t count = chunk == 1 ? KEYS : 100;

		for (uint64_t i = 0; i < 2 * count; i++)
			add_sample(&tallies, key_of_product(i % count) + chunk);
		ck_assert_uint_eq(tallies.count, count);
		for (uint32_t i = 0; i < count; i++) {
			ck_assert_uint_eq(tallies.list[i].key.stack, key_of_product(i) + chunk);
			ck_assert_int_eq(tallies.list[i].count, 2);
		}
		tallies_clear(&tallies);
	}
	tallies_free(&tallies);
}
END_TEST

/* All addresses belong to the first of any number of parts. */
START_TEST(parts_have_a_limit)
{
	struct query query = QUERY_INIT;
	struct heap heap = { .query = &query, .profile = PROFILE_INIT };
	const uint32_t count = 200000;

	for (heap.part_bits = 0;; heap.part_bits++) {
		heap_start_part(&heap);
		for (uint32_t i = count; i && !heap.overflow; i--)
			heap_on_malloc(&heap, &(struct allocation){ .address = key_of_product(i),
								    .time_ns = count - i });
		if (!heap.overflow)
			break;
		ck_assert_uint_lt(heap.part_bits, 16);
	}
	ck_assert_uint_eq(heap.live, count);
	heap_finish_part(&heap);
	for (uint32_t i = 0; i < count; i++)
		ck_assert_int_eq(heap.table[i].time_ns, i);
	heap_free(&heap);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("hash");

	tcase_add_loop_test(tcase, constants_are_spread, 0, 3);
	tcase_add_test(tcase, words_do_not_undo_a_difference);
	tcase_add_test(tcase, samples_stay_in_order);
	tcase_add_test(tcase, parts_have_a_limit);
	return suite_run(tcase);
}
