/* Contexts of threads: labels, the published record, and how they are written to a recording. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory_file.h"
#include "arch/arch.h"
#include "engine/collect/sample_context.h"
#include "engine/context/process_context.h"
#include "engine/context/thread_context.h"
#include "test/fixtures/jfr_sample.h"
#include "test/fixtures/suite.h"

static char put[CONTEXT_BYTES_MAX + 8] __attribute__((aligned(8)));

/* The context of a sample that is taken now, or NULL. */
static const struct context_record *look(void)
{
	struct thread_context context;
	size_t bytes = thread_context_read(&context);

	ck_assert_uint_le(bytes, sizeof(put));
	ck_assert_uint_eq(bytes % 8, 0);
	memset(put, 0, sizeof(put));
	if (bytes)
		thread_context_write(&context, put);
	return bytes ? (const struct context_record *)put : NULL;
}

/* The labels of the calling thread, with ';' for each NUL. */
static const char *labels(void)
{
	static char text[THREAD_LABELS_MAX + 1];
	const struct context_record *record = look();
	size_t size = record ? record->labels : 0;

	for (size_t i = 0; i < size; i++)
		text[i] = (char)(record->bytes[i] ? record->bytes[i] : ';');
	text[size] = '\0';
	return text;
}

START_TEST(labels_are_the_threads_own)
{
	ck_assert_ptr_null(look());
	ck_assert_int_eq(thread_labels_set("none", NULL), 0);
	ck_assert_ptr_null(look());
	ck_assert_int_eq(thread_labels_set("route", "/pay"), 0);
	ck_assert_int_eq(thread_labels_set("user", "7"), 0);
	ck_assert_str_eq(labels(), "route;/pay;user;7;");
	ck_assert_int_eq(thread_labels_set("route", "/cart"), 0);
	ck_assert_str_eq(labels(), "user;7;route;/cart;");
	ck_assert_int_eq(thread_labels_set("user", ""), 0);
	ck_assert_str_eq(labels(), "route;/cart;");
	thread_labels_end();
	ck_assert_ptr_null(look());
}
END_TEST

START_TEST(what_is_no_label_is_refused)
{
	char key[130], value[THREAD_LABELS_MAX];

	memset(key, 'k', sizeof(key));
	key[129] = '\0';
	memset(value, 'v', sizeof(value));
	value[sizeof(value) - 1] = '\0';
	ck_assert_int_eq(thread_labels_set(NULL, "x"), -EINVAL);
	ck_assert_int_eq(thread_labels_set("", "x"), -EINVAL);
	ck_assert_int_eq(thread_labels_set("a=b", "x"), -EINVAL);
	ck_assert_int_eq(thread_labels_set("a\nb", "x"), -EINVAL);
	ck_assert_int_eq(thread_labels_set(key, "x"), -EINVAL);
	ck_assert_int_eq(thread_labels_set(key + 1, "x"), 0);
	ck_assert_int_eq(thread_labels_set(key + 1, NULL), 0);

	/* Exactly full; and a label without room changes nothing. */
	ck_assert_int_eq(thread_labels_set("k", value + 1), -ENOSPC);
	ck_assert_int_eq(thread_labels_set("k", value + 3), 0);
	ck_assert_int_eq(thread_labels_set("l", "1"), -ENOSPC);
	ck_assert_int_eq(look()->labels, THREAD_LABELS_MAX - 1);
	ck_assert_int_eq(thread_labels_set("k", value + 2), 0);
	ck_assert_int_eq(look()->labels, THREAD_LABELS_MAX);
	thread_labels_end();
}
END_TEST

static void *label_and_end(void *ends)
{
	ck_assert_str_eq(labels(), "");
	ck_assert_int_eq(thread_labels_set("a", "thread"), 0);
	ck_assert_str_eq(labels(), "a;thread;");
	if (ends)
		thread_labels_end();
	return NULL;
}

/* More threads than the table has blocks; most of them end without releasing theirs. */
START_TEST(ended_threads_make_room)
{
	pthread_t thread;

	for (int i = 0; i < 4200; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, label_and_end, i % 64 ? NULL : ""),
				 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
}
END_TEST

START_TEST(a_child_goes_on_with_them)
{
	pthread_t thread;
	pid_t child;
	int status;

	ck_assert_int_eq(thread_labels_set("who", "parent"), 0);
	child = fork();
	if (!child) {
		thread_labels_after_fork();
		if (strcmp(labels(), "who;parent;"))
			_exit(1);
		/* Another thread of the child has its own. */
		if (pthread_create(&thread, NULL, label_and_end, NULL) ||
		    pthread_join(thread, NULL) || strcmp(labels(), "who;parent;"))
			_exit(2);
		thread_labels_set("who", "child");
		_exit(strcmp(labels(), "who;child;") ? 3 : 0);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_str_eq(labels(), "who;parent;");
	thread_labels_end();
}
END_TEST

/* A child has little work for the labels of a few threads. */
START_TEST(little_of_the_table_is_looked_at)
{
	struct rusage before, after;

	ck_assert_int_eq(thread_labels_set("who", "parent"), 0);
	ck_assert_int_eq(getrusage(RUSAGE_SELF, &before), 0);
	thread_labels_after_fork();
	ck_assert_int_eq(getrusage(RUSAGE_SELF, &after), 0);
	ck_assert_int_lt(after.ru_minflt - before.ru_minflt, 100);
	ck_assert_str_eq(labels(), "who;parent;");
}
END_TEST

/* ---- OpenTelemetry's record ---- */

static __thread const void *volatile variable;

static struct {
	struct otel_record head;
	uint8_t attributes[CONTEXT_ATTRIBUTES_MAX + 100];
} record = { .head = { .trace_id = { 0xab }, .span_id = { 0xcd }, .valid = 1 } };

static void publish_here(void)
{
	const struct context_place place = { .offset = (intptr_t)((uintptr_t)&variable -
								  thread_pointer()) };

	thread_context_places(&place, 1);
}

START_TEST(a_record_is_read_where_there_is_one)
{
	publish_here();
	ck_assert_ptr_null(look());
	variable = &record;
	memcpy(record.attributes, "\0\2hi", 4);
	record.head.attributes = 4;
	ck_assert_uint_eq(look()->trace_id[0], 0xab);
	ck_assert_uint_eq(look()->span_id[0], 0xcd);
	ck_assert_uint_eq(look()->attributes, 4);
	ck_assert_mem_eq(look()->bytes, "\0\2hi", 4);

	/* In addition to labels. */
	ck_assert_int_eq(thread_labels_set("a", "b"), 0);
	ck_assert_uint_eq(look()->labels, 4);
	ck_assert_mem_eq(look()->bytes, "a\0b\0\0\2hi", 8);
	thread_labels_end();

	/* A record with a length beyond the limit. */
	record.head.attributes = UINT16_MAX;
	ck_assert_uint_eq(look()->attributes, CONTEXT_ATTRIBUTES_MAX);

	/* Being changed; detached; none. */
	record.head.valid = 0;
	ck_assert_ptr_null(look());
	record.head.valid = 2;
	ck_assert_ptr_null(look());
	record.head.valid = 1;
	variable = NULL;
	ck_assert_ptr_null(look());
	variable = &record;
	thread_context_places(NULL, 0);
	ck_assert_ptr_null(look());
	variable = NULL;
}
END_TEST

/* Invalid data of the program must not cause a fault. */
START_TEST(what_cannot_be_read_is_none)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const struct context_place nowhere[] = {
		{ .module = 60000, .vector_at = 8, .entry_bytes = 16, .count_at = -16 },
		{ .module = 1, .vector_at = 8, .entry_bytes = 16, .count_at = INT16_MIN },
		{ .module = 1, .offset = (intptr_t)1 << 60, .vector_at = 0, .entry_bytes = 8 },
	};

	ck_assert_ptr_ne(pages, MAP_FAILED);
	munmap(pages + page, page);
	publish_here();
	variable = (void *)8;
	ck_assert_ptr_null(look());
	variable = (void *)UINTPTR_MAX;
	ck_assert_ptr_null(look());
	variable = pages + page - 8;
	ck_assert_ptr_null(look());

	/* The ids are readable, and the attributes are not. */
	record.head.attributes = 100;
	memcpy(pages + page - sizeof(record.head) - 10, &record, sizeof(record.head));
	variable = pages + page - sizeof(record.head) - 10;
	ck_assert_uint_eq(look()->trace_id[0], 0xab);
	ck_assert_uint_eq(look()->attributes, 0);
	variable = NULL;

	thread_context_places(nowhere, sizeof(nowhere) / sizeof(nowhere[0]));
	ck_assert_ptr_null(look());
	thread_context_places(NULL, 0);
	munmap(pages, page);
}
END_TEST

START_TEST(names_are_the_process_contexts)
{
	static const char *const files[] = { "test/fuzz/corpus/process_context/resource",
					     "test/fuzz/corpus/process_context/within" };
	struct process_context context = PROCESS_CONTEXT_INIT;
	uint8_t bytes[512];

	for (size_t i = 0; i < 2; i++) {
		FILE *file = fopen(files[i], "r");
		size_t size;

		ck_assert_ptr_nonnull(file);
		size = fread(bytes, 1, sizeof(bytes), file);
		fclose(file);
		ck_assert_int_eq(process_context_parse(&context, bytes, size), 0);
		ck_assert_str_eq(process_context_attribute_name(&context, 0), "http.route");
		ck_assert_str_eq(process_context_attribute_name(&context, 1), "http.method");
		ck_assert_str_eq(process_context_attribute_name(&context, 2), "user_id");
		ck_assert_ptr_null(process_context_attribute_name(&context, 3));
		/* Truncated anywhere, it gives some of the names, or none. */
		for (size_t cut = 0; cut < size; cut++)
			ck_assert_int_eq(process_context_parse(&context, bytes, cut), 0);
	}
	buf_free(&context.keys);
}
END_TEST

/* ---- In a chunk ---- */

static struct jfr_context context_of(uint8_t id, const char *text)
{
	return (struct jfr_context){
		.trace_id = { id }, .span_id = { id }, .labels = text, .length = strlen(text)
	};
}

START_TEST(each_context_is_kept_once)
{
	struct jfr_contexts contexts = { 0 };
	struct jfr_context a = context_of(1, "a=1\n"), b = context_of(1, "a=2\n"), none = { 0 },
			   many;
	char text[64];

	ck_assert_uint_eq(jfr_contexts_intern(&contexts, &none), 0);
	ck_assert_uint_eq(jfr_contexts_intern(&contexts, &a), 1);
	ck_assert_uint_eq(jfr_contexts_intern(&contexts, &b), 2);
	ck_assert_uint_eq(jfr_contexts_intern(&contexts, &a), 1);
	ck_assert_str_eq(jfr_contexts_get(&contexts, 2).labels, "a=2\n");
	ck_assert_uint_eq(contexts.full, 0);
	for (uint32_t i = 0; i < JFR_CONTEXTS_MAX; i++) {
		snprintf(text, sizeof(text), "n=%u\n", i);
		many = context_of(2, text);
		jfr_contexts_intern(&contexts, &many);
	}
	ck_assert_uint_eq(contexts.count, JFR_CONTEXTS_MAX);
	ck_assert_uint_eq(contexts.full, 2);
	ck_assert_uint_eq(jfr_contexts_intern(&contexts, &b), 2);
	jfr_contexts_reset(&contexts);
	ck_assert_uint_eq(jfr_contexts_intern(&contexts, &b), 1);
	jfr_contexts_free(&contexts);
}
END_TEST

/* As in the recording: lines; no value adds a line. */
START_TEST(labels_are_lines)
{
	struct jfr_context same = context_of(0, "a=x y\nb=c=d\n");
	struct jfr_writer *w;
	int fd = memory_file_open("thread_context");
	uint32_t id;

	ck_assert_int_eq(jfr_writer_open(&w, fd, 0), 0);
	ck_assert_int_eq(jfr_chunk_begin(w, 1, 1), 0);
	ck_assert_uint_eq(sample_context_id(w, NULL), 0);
	ck_assert_int_eq(thread_labels_set("a", "x\ny"), 0);
	ck_assert_int_eq(thread_labels_set("b", "c=d"), 0);
	id = sample_context_id(w, look());
	ck_assert_uint_ne(id, 0);
	ck_assert_uint_eq(jfr_context(w, &same), id);
	thread_labels_end();
	jfr_writer_close(w);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("thread_context");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, labels_are_the_threads_own);
	tcase_add_test(cases, what_is_no_label_is_refused);
	tcase_add_test(cases, ended_threads_make_room);
	tcase_add_test(cases, a_child_goes_on_with_them);
	tcase_add_test(cases, little_of_the_table_is_looked_at);
	tcase_add_test(cases, a_record_is_read_where_there_is_one);
	tcase_add_test(cases, what_cannot_be_read_is_none);
	tcase_add_test(cases, names_are_the_process_contexts);
	tcase_add_test(cases, each_context_is_kept_once);
	tcase_add_test(cases, labels_are_lines);
	return suite_run(cases);
}
