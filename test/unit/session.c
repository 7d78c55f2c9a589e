/* core/agent/session.c: the commands for an engine, by its behaviour, and the reports; without a
 * thread and without a clock. */
#include "core/agent/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fd.h"
#include "core/log.h"
#include "test/fixtures/jfr_chunk.h"
#include "test/fixtures/suite.h"

#define CHUNK   100
#define MANY_KB (1u << 20)

/* Its behaviour, and its commands: a letter for each, and 'r' for a report. */
static struct {
	bool cannot_dump, grows, refuses_start, writes_rubbish, is_cut_off, ends, breaks,
		memory_refuses;
	char told[64];
	int fd, mem_fd;
} engine;

static unsigned final_reports, parts;
static uint64_t chunks; /* that the next report must have */

static void note(char letter)
{
	char text[2] = { letter, '\0' };

	ck_assert_uint_lt(strlen(engine.told), sizeof(engine.told) - 1);
	strcat(engine.told, text);
}

static void write_chunk(int fd)
{
	uint8_t chunk[CHUNK] = { 0 };

	jfr_chunk_fill(chunk, CHUNK);
	if (engine.writes_rubbish)
		memset(chunk, 'x', sizeof(chunk));
	if (engine.is_cut_off)
		chunk[JFR_CHUNK_CONSTANTS] = CHUNK;
	ck_assert_int_eq(fd_write(fd, chunk, sizeof(chunk), -1), 0);
}

static int open_file(const struct engine_start *start)
{
	return open(start->file, O_RDWR | O_APPEND | O_CLOEXEC);
}

static void close_file(int *fd)
{
	close(*fd);
	*fd = -1;
}

static int start(const struct engine_start *wanted)
{
	note('S');
	if (engine.refuses_start)
		return -EIO;
	engine.fd = open_file(wanted);
	ck_assert_int_ge(engine.fd, 0);
	return 0;
}

static int finish(char letter)
{
	note(letter);
	if (engine.breaks)
		return -EIO;
	if (engine.ends && engine.fd >= 0) {
		write_chunk(engine.fd);
		close_file(&engine.fd);
	}
	return engine.fd < 0 ? -EIO : 0;
}

static int rotate(void)
{
	int err = finish('D');

	if (!err && !engine.cannot_dump)
		write_chunk(engine.fd);
	return err;
}

static int stop(void)
{
	int err = finish('X');

	if (!err) {
		write_chunk(engine.fd);
		close_file(&engine.fd);
	}
	return err;
}

static int start_memory(const struct engine_start *wanted)
{
	note('s');
	ck_assert_uint_ne(wanted->mem_bytes, ENGINE_OFF);
	if (engine.memory_refuses)
		return -EIO;
	engine.mem_fd = open_file(wanted);
	ck_assert_int_ge(engine.mem_fd, 0);
	return 0;
}

static int rotate_memory(void)
{
	note('d');
	write_chunk(engine.mem_fd);
	return 0;
}

static int stop_memory(void)
{
	note('x');
	close_file(&engine.mem_fd);
	return 0;
}

static bool counts(const struct engine *self, struct engine_counts *out)
{
	(void)self;
	*out = (struct engine_counts){ .memory_kb = engine.grows ? MANY_KB : 0 };
	return true;
}

static void version(const struct engine *self, char *text, size_t size)
{
	(void)self;
	snprintf(text, size, "1");
}

static int deliver(struct reporter *reporter, const struct report *report)
{
	(void)reporter;
	note('r');
	final_reports += report->final;
	parts += (unsigned)report->part_count;
	ck_assert_uint_eq(report->parts[0].length, chunks * CHUNK);
	chunks = 1;
	return -EIO; /* does not matter here */
}

static void close_reporter(struct reporter *reporter)
{
	(void)reporter;
	note('c');
}

static const struct engine all = { .name = "all",
				   .start = start,
				   .rotate = rotate,
				   .stop = stop,
				   .counts = counts,
				   .version = version };
static const struct engine memory = {
	.name = "memory", .start = start_memory, .rotate = rotate_memory, .stop = stop_memory
};
static struct reporter reporter = { .name = "test", .deliver = deliver, .close = close_reporter };
static struct config config;

static struct session new_session(bool with_memory)
{
	return (struct session){ .config = &config,
				 .settings = &config,
				 .with = { .engine = &all,
					   .mem_engine = with_memory ? &memory : NULL,
					   .reporters = { &reporter },
					   .reporter_count = 1 } };
}

static void set_up(void)
{
	memset(&engine, 0, sizeof(engine));
	engine.fd = engine.mem_fd = -1;
	chunks = 1;
	config = (struct config){ .cpu_interval_ns = 10000000,
				  .wall_interval_ns = OPTION_OFF,
				  .native_mem_bytes = 1 << 20,
				  .reporting_interval_ns = 1000000000 };
	ck_assert_int_eq(log_open(LOG_OFF, "/dev/null"), 0);
}

/* Start, two intervals, end. */
static void run(bool with_memory, const char *told, unsigned finals)
{
	struct session session = new_session(with_memory);

	ck_assert_int_eq(session_start(&session), 0);
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_int_eq(session_report(&session), 0);
	session_end(&session, 0);
	session_close(&session);
	ck_assert_str_eq(engine.told, told);
	ck_assert_uint_eq(final_reports, finals);
}

START_TEST(a_chunk_is_closed_for_each_report)
{
	run(false, "SDrDrXrc", 1);
	ck_assert_uint_eq(parts, 3);
}
END_TEST

START_TEST(one_that_cannot_is_restarted_for_each)
{
	engine.cannot_dump = true;
	run(false, "SDXrSXrSXrc", 1);
}
END_TEST

START_TEST(one_that_has_grown_is_restarted_between_two)
{
	engine.grows = true;
	/* Its later samples are in a report as well. */
	run(false, "SDrXrSDrXrSXrc", 1);
}
END_TEST

START_TEST(one_that_ends_by_itself_has_a_last_report)
{
	engine.ends = true;
	run(false, "SDrc", 1);
}
END_TEST

static bool never(void)
{
	return false;
}

/* At the next report, because the program mostly ends with it. */
START_TEST(one_that_ends_while_the_program_continues_is_told)
{
	struct engine of_java = all;
	struct session session = new_session(false);
	int lines = memfd_create("lines", 0);
	off_t length;

	of_java.can_restart = never;
	session.with.engine = &of_java;
	engine.ends = true;
	log_open_fd(LOG_WARN, lines);
	ck_assert_int_eq(session_start(&session), 0);
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_int_eq(lseek(lines, 0, SEEK_END), 0);
	ck_assert_int_eq(session_report(&session), 0);
	length = lseek(lines, 0, SEEK_END);
	ck_assert_int_gt(length, 0);
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_int_eq(lseek(lines, 0, SEEK_END), length);
	session_end(&session, 0);
	session_close(&session);
	ck_assert_str_eq(engine.told, "SDrc");
}
END_TEST

START_TEST(memory_is_a_part_of_each_report)
{
	run(true, "SsDdrDdrXdrxc", 1);
	ck_assert_uint_eq(parts, 6);
}
END_TEST

START_TEST(memory_is_done_without)
{
	engine.memory_refuses = true;
	run(true, "SsDrDrXrc", 1);
	ck_assert_uint_eq(parts, 3);
}
END_TEST

/* And there is no message. */
START_TEST(memory_that_is_off_by_now_is_not_begun_again)
{
	struct session session = new_session(true);
	int lines = memfd_create("lines", 0);

	ck_assert_int_eq(session_start(&session), 0);
	config.native_mem_bytes = OPTION_OFF;
	session_pause(&session);
	log_open_fd(LOG_ERROR, lines);
	ck_assert_int_eq(session_resume(&session), 0);
	session_end(&session, 0);
	session_close(&session);
	ck_assert_str_eq(engine.told, "SsXdrxSXrc");
	ck_assert_int_eq(lseek(lines, 0, SEEK_END), 0);
}
END_TEST

static char dir[] = "/tmp/session.XXXXXX";

static int create_running_file(const struct running_files *files, const char *end)
{
	char name[300];

	snprintf(name, sizeof(name), "%s%s", files->name, end);
	return openat(files->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static uint64_t running_interval_ns; /* of the note */
static int keep_error;

static int keep(struct reporter *unused, const struct report *whom, struct running_files *files,
		struct buf *note_of)
{
	(void)unused;
	running_interval_ns = whom->sampling.interval_ns;
	if (whom->group)
		ck_assert_int_eq(buf_append_string(note_of, whom->group), 0);
	if (!files)
		return keep_error;
	files->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(files->name, sizeof(files->name), ".kept");
	files->note = create_running_file(files, RUNNING_NOTE);
	files->chunks = create_running_file(files, RUNNING_CHUNKS);
	files->memory = create_running_file(files, RUNNING_MEMORY);
	return files->memory < 0 ? -EIO : 0;
}

static off_t size_of(const char *name)
{
	char path[sizeof(dir) + 64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/.kept%s", dir, name);
	return stat(path, &st) ? -1 : st.st_size;
}

static struct running_head read_head(void)
{
	char path[sizeof(dir) + 64];
	struct running_head head;
	int fd;

	snprintf(path, sizeof(path), "%s/.kept%s", dir, RUNNING_NOTE);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(fd_read(fd, &head, sizeof(head), 0), 0);
	close(fd);
	return head;
}

/* An engine with its own threads finishes a chunk from time to time. Finished chunks are in the
 * spool, and so are another engine's samples of memory. */
START_TEST(finished_chunks_are_in_the_spool)
{
	struct session session = new_session(true);

	ck_assert_ptr_nonnull(mkdtemp(dir));
	reporter.create_running_files = keep;
	config.spool_dir = dir;
	ck_assert_int_eq(session_start(&session), 0);
	ck_assert_uint_eq(session_service(&session, 1), session.chunk_due_ns);
	ck_assert_str_eq(engine.told, "Ss");
	for (off_t i = 1; i <= 3; i++) {
		uint64_t now_ns = session.chunk_due_ns;

		/* The first is due after an eighth of a second, and each pause is twice the last,
		 * up to a second. */
		ck_assert_uint_eq(session_service(&session, now_ns), now_ns + (125000000u << i));
		ck_assert_int_eq(size_of(RUNNING_CHUNKS), i * CHUNK);
		ck_assert_int_eq(size_of(RUNNING_MEMORY), i * CHUNK);
	}
	ck_assert_str_eq(engine.told, "SsDdDdDd");
	chunks = 4;
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_uint_eq(read_head().cut, 4 * CHUNK);
	ck_assert_uint_eq(read_head().memory_cut, 4 * CHUNK);
	ck_assert_int_eq(size_of(RUNNING_MEMORY), 4 * CHUNK);
	/* The state of memory's sampler survives a restart of the other engine, and so do its
	 * files. */
	ck_assert_int_eq(session_restart(&session), 0);
	ck_assert_uint_eq(read_head().cut, 5 * CHUNK);
	session_service(&session, session.chunk_due_ns);
	ck_assert_int_eq(size_of(RUNNING_CHUNKS), 6 * CHUNK);
	chunks = 2;
	session_end(&session, 0);
	session_close(&session);
	ck_assert_str_eq(engine.told, "SsDdDdDdDdrXdrSDdXdrxc");
	ck_assert_int_eq(size_of(RUNNING_NOTE), -1);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

static bool has_no_holes;

/* As of a file system without FALLOC_FL_PUNCH_HOLE, such as ramfs, NFS before 4.2 and 9p. */
int fallocate(int fd, int mode, off_t offset, off_t length)
{
	(void)fd, (void)mode, (void)offset, (void)length;
	errno = EOPNOTSUPP;
	return has_no_holes ? -1 : 0;
}

static uint64_t service(uint64_t now_ns)
{
	(void)now_ns;
	return UINT64_MAX;
}

/* It would grow by each report there, and take the space of all finished ones. */
START_TEST(a_recording_that_only_grows_leaves_the_spool)
{
	struct engine served = all;
	struct session session = new_session(_i);

	served.service = _i ? NULL : service;
	session.with.engine = &served;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	reporter.create_running_files = keep;
	config.spool_dir = dir;
	has_no_holes = true;
	ck_assert_int_eq(session_start(&session), 0);
	for (chunks = 1; chunks * CHUNK < 4096; chunks++)
		write_chunk(engine.fd);
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_int_eq(size_of(RUNNING_NOTE), -1);
	ck_assert_int_eq(size_of(RUNNING_CHUNKS), -1);
	ck_assert_int_eq(size_of(RUNNING_MEMORY), -1);
	ck_assert(session.has_spool_failed && !session.has_running_files);
	ck_assert(!session.is_mem_in_spool);
	ck_assert_int_eq(session_report(&session), 0);
	session_end(&session, 0);
	session_close(&session);
	/* Only an engine that writes to the spool itself is restarted. */
	ck_assert_str_eq(engine.told, _i ? "SsDdrxsDdrXdrxc" : "SDrXrSDrXrc");
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

static int end_result;

static int end_chunk(void)
{
	note('e');
	if (!end_result)
		write_chunk(engine.fd);
	return end_result;
}

/* An engine that has a call for it gets no dump command. After an error it does not get that call
 * until the next start. */
START_TEST(an_engine_ends_its_chunks_in_its_own_way)
{
	struct engine served = all;
	struct session session = new_session(false);

	served.end_chunk = end_chunk;
	end_result = 0;
	session.with.engine = &served;
	ck_assert_ptr_nonnull(mkdtemp(dir));
	reporter.create_running_files = keep;
	config.spool_dir = dir;
	ck_assert_int_eq(session_start(&session), 0);
	session_service(&session, session.chunk_due_ns);
	session_service(&session, session.chunk_due_ns);
	end_result = -ENOSPC;
	ck_assert_uint_eq(session_service(&session, session.chunk_due_ns), UINT64_MAX);
	ck_assert_uint_eq(session_service(&session, UINT64_MAX - 1), UINT64_MAX);
	chunks = 3;
	session_end(&session, 0);
	session_close(&session);
	ck_assert_str_eq(engine.told, "SeeeXrc");
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* The recovering process must know its settings. */
START_TEST(running_files_are_created_again_with_other_intervals)
{
	static struct live_call call = { .request = LIVE_OPTIONS,
					 .options = { { "CPU_INTERVAL", "7ms" } },
					 .option_count = 1 };
	struct session session = new_session(true);

	ck_assert_ptr_nonnull(mkdtemp(dir));
	reporter.create_running_files = keep;
	config.spool_dir = dir;
	ck_assert_int_eq(session_start(&session), 0);
	ck_assert_uint_eq(running_interval_ns, 10000000);
	ck_assert_int_eq(session_answer(&session, &call), 0);
	ck_assert_int_eq(call.err, 0);
	ck_assert_uint_eq(running_interval_ns, 7000000);
	ck_assert_int_eq(size_of(RUNNING_MEMORY), 0);
	session_end(&session, 0);
	session_close(&session);
	ck_assert_str_eq(engine.told, "SsDdrxXrSsXdrxc");
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* PROFILING_GROUP is set to each. */
static const char *const groups[] = { "a", "longer", "b", "still longer", "c", "d" };

/* The note in the spool as a recovering process reads it. */
static void read_note(char text[64])
{
	struct running_place place = read_head().note;
	char path[sizeof(dir) + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/.kept%s", dir, RUNNING_NOTE);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_uint_lt(place.length, 64);
	memset(text, 0, 64);
	ck_assert_int_eq(fd_read(fd, text, place.length, (off_t)place.at), 0);
	close(fd);
}

/* A recovered report has the settings of its data. */
START_TEST(note_in_the_spool_follows_the_settings)
{
	static struct live_call call = { .request = LIVE_OPTIONS,
					 .options = { { .name = "PROFILING_GROUP" } },
					 .option_count = 1 };
	struct session session = new_session(true);
	char text[64];

	ck_assert_ptr_nonnull(mkdtemp(dir));
	reporter.create_running_files = keep;
	config.spool_dir = dir;
	ck_assert_int_eq(session_start(&session), 0);
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		call.options[0].value = groups[i];
		ck_assert_int_eq(session_answer(&session, &call), 0);
		ck_assert_int_eq(call.err, 0);
		read_note(text);
		ck_assert_str_eq(text, groups[i]);
		ck_assert_uint_eq(read_head().cut, (i + 1) * CHUNK);
	}
	ck_assert_int_lt(size_of(RUNNING_NOTE), sizeof(struct running_head) + 64);
	/* The former note is not damaged. */
	keep_error = -ENOSPC;
	call.options[0].value = "none";
	ck_assert_int_eq(session_answer(&session, &call), 0);
	ck_assert_int_eq(call.err, 0);
	read_note(text);
	ck_assert_str_eq(text, "d");
	keep_error = 0;
	session_end(&session, 0);
	session_close(&session);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(one_that_does_not_start_is_told)
{
	struct session session = new_session(true);

	engine.refuses_start = true;
	ck_assert_int_eq(session_start(&session), -EIO);
	session_close(&session);
	ck_assert_str_eq(engine.told, "Sc");
}
END_TEST

START_TEST(one_that_breaks_is_told)
{
	struct session session = new_session(false);

	ck_assert_int_eq(session_start(&session), 0);
	engine.breaks = true;
	ck_assert_int_eq(session_report(&session), -EIO);
	session_close(&session);
	ck_assert_str_eq(engine.told, "SDc");
	close_file(&engine.fd);
}
END_TEST

START_TEST(rubbish_is_no_report)
{
	struct session session = new_session(false);

	ck_assert_int_eq(session_start(&session), 0);
	engine.writes_rubbish = true;
	ck_assert_int_eq(session_report(&session), -EBADMSG);
	session_close(&session);
	ck_assert_str_eq(engine.told, "SDc");
	close_file(&engine.fd);
}
END_TEST

START_TEST(drops_damaged_chunks)
{
	struct session session = new_session(false);
	struct live_call call = { .request = LIVE_STATUS };

	ck_assert_int_eq(session_start(&session), 0);
	engine.is_cut_off = true;
	ck_assert_int_eq(session_report(&session), 0);
	ck_assert_uint_eq(session.dropped_chunks, 2);
	ck_assert_int_eq(session_answer(&session, &call), 0);
	ck_assert_uint_eq(call.status.losses.dropped_refused, 2);
	engine.is_cut_off = false;
	ck_assert_int_eq(session_report(&session), 0);
	session_close(&session);
	ck_assert_str_eq(engine.told, "SDXSDrc");
	close_file(&engine.fd);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, a_chunk_is_closed_for_each_report);
	tcase_add_test(tests, one_that_cannot_is_restarted_for_each);
	tcase_add_test(tests, one_that_has_grown_is_restarted_between_two);
	tcase_add_test(tests, one_that_ends_by_itself_has_a_last_report);
	tcase_add_test(tests, one_that_ends_while_the_program_continues_is_told);
	tcase_add_test(tests, memory_is_a_part_of_each_report);
	tcase_add_test(tests, memory_is_done_without);
	tcase_add_test(tests, memory_that_is_off_by_now_is_not_begun_again);
	tcase_add_test(tests, finished_chunks_are_in_the_spool);
	tcase_add_test(tests, an_engine_ends_its_chunks_in_its_own_way);
	tcase_add_test(tests, running_files_are_created_again_with_other_intervals);
	tcase_add_test(tests, note_in_the_spool_follows_the_settings);
	tcase_add_test(tests, one_that_does_not_start_is_told);
	tcase_add_test(tests, one_that_breaks_is_told);
	tcase_add_test(tests, rubbish_is_no_report);
	tcase_add_test(tests, drops_damaged_chunks);
	tcase_add_loop_test(tests, a_recording_that_only_grows_leaves_the_spool, 0, 2);
	return suite_run(tests);
}
