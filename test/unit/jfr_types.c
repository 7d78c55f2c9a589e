/* engine/jfr/jfr_types: the tables are consistent, and agree with a recording of async-profiler. */
#include "engine/jfr/jfr_types.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/jfr/jfr_read.h"
#include "test/fixtures/suite.h"

/* Recorded by async-profiler 4.5; CPU, wall clock, native memory. */
#define RECORDING "test/fixtures/jfr/native.jfr"

static const struct jfr_type_row *find(enum jfr_type_id type)
{
	size_t i;

	for (i = 0; i < jfr_type_count; i++)
		if (jfr_types[i].type == type)
			return &jfr_types[i];
	return NULL;
}

START_TEST(no_two_types_share_an_id_or_a_name)
{
	size_t i, j;

	for (i = 0; i < jfr_type_count; i++)
		for (j = 0; j < i; j++) {
			ck_assert_int_ne(jfr_types[i].type, jfr_types[j].type);
			ck_assert_str_ne(jfr_types[i].name, jfr_types[j].name);
		}
}
END_TEST

START_TEST(fields_stand_by_their_owner_and_name_known_types)
{
	size_t i, j;

	for (i = 0; i < jfr_field_count; i++) {
		ck_assert_ptr_nonnull(find(jfr_fields[i].owner));
		ck_assert_ptr_nonnull(find(jfr_fields[i].type));
		for (j = 0; j + 1 < i; j++)
			if (jfr_fields[j].owner == jfr_fields[i].owner)
				ck_assert_int_eq(jfr_fields[i - 1].owner, jfr_fields[i].owner);
	}
}
END_TEST

START_TEST(simple_types_have_one_field)
{
	size_t i, j, count;

	for (i = 0; i < jfr_type_count; i++) {
		for (count = j = 0; j < jfr_field_count; j++)
			count += jfr_fields[j].owner == jfr_types[i].type;
		if (jfr_types[i].simple)
			ck_assert_uint_eq(count, 1);
		/* Every event starts with its time. */
		if (jfr_types[i].type > JFR_T_EVENT && jfr_types[i].type < JFR_T_ANNOTATION)
			ck_assert_uint_ge(count, 2);
	}
}
END_TEST

START_TEST(constants_are_of_simple_types)
{
	size_t i;

	for (i = 0; i < jfr_constant_count; i++) {
		ck_assert(find(jfr_constants[i].type)->simple);
		if (i && jfr_constants[i].type == jfr_constants[i - 1].type)
			ck_assert_uint_eq(jfr_constants[i].key, jfr_constants[i - 1].key + 1);
		else
			ck_assert_uint_eq(jfr_constants[i].key, 0);
	}
}
END_TEST

/* The agent's own fields are after all fields of async-profiler. */
static void compare_fields(const struct jfr_type *theirs, const struct jfr_type_row *ours)
{
	const struct jfr_field *field;
	size_t i, n = 0;

	for (i = 0; i < jfr_field_count; i++) {
		if (jfr_fields[i].owner != ours->type)
			continue;
		if (n == theirs->field_count) {
			ck_assert_msg(ours->type == JFR_T_MALLOC || ours->type == JFR_T_FREE ||
					      ours->type == JFR_T_NATIVE_LIBRARY ||
					      ours->type == JFR_T_NATIVE_LOCK ||
					      ours->type == JFR_T_EXECUTION_SAMPLE ||
					      ours->type == JFR_T_WALL_CLOCK_SAMPLE,
				      "%s has a field that is not async-profiler's", ours->name);
			continue;
		}
		field = &theirs->fields[n++];
		ck_assert_str_eq(field->name, jfr_fields[i].name);
		ck_assert_int_eq(field->type_id, jfr_fields[i].type);
		ck_assert_int_eq(field->is_constant, jfr_fields[i].place == JFR_IN_POOL);
		ck_assert_int_eq(field->is_array, jfr_fields[i].place == JFR_IN_ARRAY);
	}
	ck_assert_msg(n == theirs->field_count, "%s lacks a field", ours->name);
}

static void compare_constants(struct jfr_chunk *chunk)
{
	struct buf name = BUF_INIT(256);
	struct jfr_value value;
	size_t i;

	for (i = 0; i < jfr_constant_count; i++) {
		const struct jfr_type *type = jfr_type_by_id(chunk, jfr_constants[i].type);

		if (jfr_constants[i].type == JFR_T_FRAME_TYPE &&
		    jfr_constants[i].key > JFR_FRAME_C1)
			continue; /* the agent's own, with a number that async-profiler uses for a type that the agent never writes */
		ck_assert(jfr_constant_get(chunk, type, jfr_constants[i].key, &value));
		buf_reset(&name);
		ck_assert(jfr_value_append_string(chunk, &value, &name));
		ck_assert_str_eq(buf_string(&name), jfr_constants[i].name);
	}
	buf_free(&name);
}

START_TEST(shared_types_are_as_async_profiler_has_them)
{
	struct jfr_header header;
	struct jfr_chunk chunk;
	struct jfr_error error;
	const struct jfr_type *theirs;
	const uint8_t *file;
	struct stat status;
	size_t i, shared = 0;
	int fd = open(RECORDING, O_RDONLY);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &status), 0);
	file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(file, MAP_FAILED);
	ck_assert_int_eq(jfr_header_read(&header, file, (uint64_t)status.st_size, 0, &error), 0);
	ck_assert_int_eq(jfr_chunk_open(&chunk, file, &header), 0);

	for (i = 0; i < jfr_type_count; i++) {
		theirs = jfr_type_by_name(&chunk, jfr_types[i].name);
		if (!theirs) {
			ck_assert_msg(!strncmp(jfr_types[i].name, "asprof.", 7), "%s is not theirs",
				      jfr_types[i].name);
			continue;
		}
		ck_assert_int_eq(theirs->id, jfr_types[i].type);
		compare_fields(theirs, &jfr_types[i]);
		shared++;
	}
	ck_assert_uint_eq(shared, jfr_type_count - 10);
	compare_constants(&chunk);

	jfr_chunk_close(&chunk);
	munmap((void *)(uintptr_t)file, (size_t)status.st_size);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, no_two_types_share_an_id_or_a_name);
	tcase_add_test(tcase, fields_stand_by_their_owner_and_name_known_types);
	tcase_add_test(tcase, simple_types_have_one_field);
	tcase_add_test(tcase, constants_are_of_simple_types);
	tcase_add_test(tcase, shared_types_are_as_async_profiler_has_them);
	return suite_run(tcase);
}
