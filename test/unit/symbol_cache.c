/* engine/symbols/symbol_cache and engine/symbols/string_pool: separate entries, bounded size. */
#include "engine/symbols/symbol_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fixtures/suite.h"

static struct symbol_cache cache;

static void add(uint64_t module, uint64_t address)
{
	struct symbol_entry *entry = symbol_cache_add(&cache, module, address);
	char name[64];

	ck_assert_ptr_nonnull(entry);
	snprintf(name, sizeof(name), "name %d of %d", (int)address, (int)module);
	entry->name = string_pool_intern(&cache.strings, name);
	ck_assert_ptr_nonnull(entry->name);
}

static void check(uint64_t module, uint64_t address)
{
	struct symbol_entry *entry = symbol_cache_find(&cache, module, address);
	char name[64];

	ck_assert_ptr_nonnull(entry);
	snprintf(name, sizeof(name), "name %d of %d", (int)address, (int)module);
	ck_assert_str_eq(entry->name, name);
}

START_TEST(same_text_same_pointer)
{
	struct string_pool pool = { 0 };
	char text[6000], copy[16] = "abc";
	const char *first = string_pool_intern(&pool, "abc");

	ck_assert_ptr_eq(string_pool_intern(&pool, copy), first);
	ck_assert_ptr_ne(first, copy);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_str_eq(string_pool_intern(&pool, text), text); /* longer than a block */
	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "%d", i);
		ck_assert_str_eq(string_pool_intern(&pool, text), text);
	}
	ck_assert_ptr_eq(string_pool_intern(&pool, "abc"), first);
	ck_assert_uint_eq(pool.count, 5002);
	ck_assert_str_eq(string_pool_intern(&pool, ""), "");
	string_pool_free(&pool);
	ck_assert_str_eq(string_pool_intern(&pool, "again"), "again");
	string_pool_free(&pool);
}
END_TEST

START_TEST(key_is_module_and_address)
{
	ck_assert_ptr_null(symbol_cache_find(&cache, 1, 2));
	for (uint64_t i = 0; i < 1000; i++) {
		add(1, i);
		add(2, i);
	}
	ck_assert_uint_eq(cache.count, 2000);
	add(2, 7);
	ck_assert_uint_eq(cache.count, 2000);
	for (uint64_t i = 0; i < 1000; i++) {
		check(1, i);
		check(2, i);
	}
	ck_assert_ptr_null(symbol_cache_find(&cache, 3, 5));
	symbol_cache_free(&cache);
}
END_TEST

START_TEST(small_survives_its_chunk)
{
	add(1, 1);
	for (int chunk = 0; chunk < 100; chunk++)
		symbol_cache_trim(&cache);
	check(1, 1);
	symbol_cache_free(&cache);
}
END_TEST

START_TEST(past_the_bound_the_unused_go)
{
	for (uint64_t i = 0; i < 3000; i++)
		add(1, i);
	symbol_cache_trim(&cache);
	for (uint64_t i = 0; i < 3000; i++)
		add(2, i);
	check(1, 5); /* requested in the second chunk too */
	symbol_cache_trim(&cache);
	ck_assert_uint_eq(cache.count, 3001);
	for (uint64_t i = 0; i < 3000; i++)
		check(2, i);
	check(1, 5);
	ck_assert_ptr_null(symbol_cache_find(&cache, 1, 6));
	symbol_cache_free(&cache);
}
END_TEST

START_TEST(never_keeps_more_than_the_bound)
{
	for (int chunk = 0; chunk < 5; chunk++) {
		for (uint64_t i = 0; i < 20000; i++)
			add(1, i);
		symbol_cache_trim(&cache);
		ck_assert_uint_le(cache.count, SYMBOL_CACHE_ENTRIES);
		ck_assert_uint_le(cache.strings.bytes, SYMBOL_CACHE_BYTES + 8192);
		ck_assert_uint_gt(cache.count, SYMBOL_CACHE_ENTRIES / 2);
	}
	symbol_cache_free(&cache);
}
END_TEST

START_TEST(numbers_of_chunks_run_out)
{
	cache.chunk = UINT32_MAX - 1;
	add(1, 1);
	symbol_cache_trim(&cache);
	ck_assert_ptr_null(symbol_cache_find(&cache, 1, 1));
	add(1, 1);
	symbol_cache_trim(&cache);
	check(1, 1);
	symbol_cache_free(&cache);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, same_text_same_pointer);
	tcase_add_test(tcase, key_is_module_and_address);
	tcase_add_test(tcase, small_survives_its_chunk);
	tcase_add_test(tcase, past_the_bound_the_unused_go);
	tcase_add_test(tcase, never_keeps_more_than_the_bound);
	tcase_add_test(tcase, numbers_of_chunks_run_out);
	return suite_run(tcase);
}
