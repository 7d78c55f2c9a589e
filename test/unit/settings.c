/* profile/jfr/settings.c: the settings of each chunk of a recording. async-profiler writes its
 * settings only to its first chunk, and the agent writes them after each report. */
#include "profile/jfr/settings.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/fd.h"
#include "engine/collect/label_chunk.h"
#include "engine/jfr/jfr_write.h"
#include "test/fixtures/suite.h"

#define SECOND 1000000000ull

static const uintptr_t stack[] = { 0x1000 };

static int namer(void *context, const uintptr_t *pcs, const bool *is_return, size_t count,
		 struct jfr_frame_name *out)
{
	(void)context;
	(void)pcs;
	(void)is_return;
	for (size_t i = 0; i < count; i++)
		out[i] = (struct jfr_frame_name){ .class_name = "app", .method_name = "main" };
	return 0;
}

/* Append an engine's chunk to FD, with a SETTING or without. */
static void add_chunk(int fd, bool memory, const char *setting, const char *value)
{
	struct jfr_writer *w;

	ck_assert_int_eq(jfr_writer_open(&w, fd, lseek(fd, 0, SEEK_END)), 0);
	if (memory)
		jfr_writer_memory_only(w, 0, JFR_WITH_OTHER_ENGINE);
	ck_assert_int_eq(jfr_chunk_begin(w, SECOND, 1), 0);
	if (setting)
		jfr_setting(w, 1, setting, value);
	jfr_execution_sample(w, 2, 42, jfr_stack(w, stack, 1, false), JFR_STATE_DEFAULT);
	ck_assert_int_eq(jfr_chunk_end(w, 2 * SECOND, 3, namer, NULL, NULL), 0);
	jfr_writer_close(w);
}

static void add_labels(int fd, uint64_t interval_ns)
{
	struct report report = { .parts = { { .fd = fd } },
				 .part_count = 1,
				 .executable = "work",
				 .sampling = { .interval_ns = interval_ns,
					       .wall_ns = 7 * interval_ns,
					       .mem_bytes = 9 * interval_ns } };
	int labels = memfd_create("labels", MFD_CLOEXEC);

	ck_assert_int_eq(label_chunk_write(labels, &report), 0);
	ck_assert_int_ge(lseek(fd, 0, SEEK_END), 0);
	ck_assert_int_eq(fd_copy(fd, labels, 0, (uint64_t)lseek(labels, 0, SEEK_END)), 0);
	close(labels);
}

static void add(int fd, char kind)
{
	switch (kind) {
	case '5': /* the first of an engine's */
		add_chunk(fd, false, "interval", "5");
		break;
	case '.': /* one of the later ones */
		add_chunk(fd, false, NULL, NULL);
		break;
	case 'm': /* native memory by the builtin engine, without a duration */
		add_chunk(fd, true, "nativemem", "4096");
		break;
	case 'a':
		add_labels(fd, 10);
		break;
	case 'b':
		add_labels(fd, 20);
		break;
	default: /* without such settings */
		add_labels(fd, 0);
	}
}

static uint8_t data[1u << 18];

static size_t make(const char *kinds)
{
	int fd = memfd_create("recording", MFD_CLOEXEC);
	off_t length;

	for (const char *kind = kinds; *kind; kind++)
		add(fd, *kind);
	length = lseek(fd, 0, SEEK_END);
	ck_assert_uint_le((size_t)length, sizeof(data));
	ck_assert_int_eq(fd_read(fd, data, (size_t)length, 0), 0);
	close(fd);
	return (size_t)length;
}

static void check(struct settings_tracker *tracker, size_t length, const int64_t *intervals)
{
	struct jfr_header header;
	struct jfr_error error;
	size_t i = 0;

	settings_tracker_start(tracker, data, length);
	for (uint64_t at = 0; !jfr_header_read(&header, data, length, at, &error);
	     at += header.size) {
		const struct settings *s = settings_tracker_get(tracker, data, length, at);

		ck_assert_msg(s->cpu_interval_ns == intervals[i], "chunk %zu: %lld", i,
			      (long long)s->cpu_interval_ns);
		if (intervals[i] % 10 == 0) {
			ck_assert_int_eq(s->wall_interval_ns, 7 * intervals[i]);
			ck_assert_int_eq(s->mem_interval, 9 * intervals[i]);
		}
		i++;
	}
}

static const struct {
	const char *chunks;
	int64_t intervals[8]; /* as each begins; its own have precedence */
} cases[] = {
	{ ".", { 0 } },
	{ "5.", { 5, 5 } },
	{ "5.l.l", { 5, 5, 5, 5, 5 } },
	{ ".a", { 10, 10 } },
	{ "5.a", { 10, 10, 10 } },
	{ "..a.b", { 10, 10, 10, 20, 20 } },
	{ ".ma5mb", { 10, 10, 10, 20, 20, 20 } },
	{ ".la", { 0, 0, 10 } },
	{ ".a.", { 10, 10, 0 } },
};

START_TEST(of_each_chunk)
{
	struct settings_tracker tracker = { 0 };

	check(&tracker, make(cases[_i].chunks), cases[_i].intervals);
}
END_TEST

/* Of a directory. */
START_TEST(of_one_recording_after_another)
{
	static const int64_t first[] = { 5, 5, 5 }, next[] = { 5, 5 }, last[] = { 20, 20 };
	struct settings_tracker tracker = { 0 };

	check(&tracker, make("5.l"), first);
	check(&tracker, make(".l"), next);
	check(&tracker, make(".b"), last);
}
END_TEST

START_TEST(of_what_is_damaged)
{
	static const int64_t none[8];
	size_t length = make("..");

	for (size_t cut = 0; cut < length; cut += 97) {
		struct settings_tracker tracker = { 0 };

		check(&tracker, cut, none);
	}
}
END_TEST

START_TEST(of_labels_alone)
{
	struct settings told = { 0 };
	size_t length = make("m");

	ck_assert(!settings_read_first_chunk(&told, data, length));
	ck_assert_int_eq(told.mem_interval, 4096);
	length = make("5");
	ck_assert(!settings_read_first_chunk(&told, data, length));
	ck_assert_int_eq(told.cpu_interval_ns, 5);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("settings");

	tcase_add_loop_test(tcase, of_each_chunk, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tcase, of_one_recording_after_another);
	tcase_add_test(tcase, of_what_is_damaged);
	tcase_add_test(tcase, of_labels_alone);
	return suite_run(tcase);
}
