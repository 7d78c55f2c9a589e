/* Every allocation between a sample and a delivered report fails once, alone and with all later
 * ones. Either an error is returned, or the work is done without it; nothing crashes, and nothing
 * stays allocated. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/agent/recording.h"
#include "core/agent/samples.h"
#include "core/fd.h"
#include "core/log.h"
#include "engine/cfi/cfi_lookup.h"
#include "engine/collect/collector.h"
#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/sample/ring.h"
#include "engine/symbols/symbols.h"
#include "test/fixtures/a_report.h"
#include "test/fixtures/folder.h"
#include "test/fixtures/no_memory.h"
#include "test/fixtures/suite.h"
#include "upload/local/local.h"
#include "upload/queue/store.h"
#include "upload/s3/s3.h"
#include "upload/s3/zip.h"

static int memory_file(void)
{
	return memfd_create("no_memory", MFD_CLOEXEC);
}

static int count_samples(void)
{
	int fd = open("test/fixtures/jfr/native.jfr", O_RDONLY | O_CLOEXEC), err;
	struct report_part part = { .fd = fd, .length = (uint64_t)lseek(fd, 0, SEEK_END) };
	uint64_t count = 0;

	err = samples_count(&part, &count);
	close(fd);
	return err || count > 100 ? err : -EBADMSG;
}

static int cut_recording(void)
{
	struct recording *cut;
	struct report_part part;
	int err = recording_open(&cut, NULL);

	if (err)
		return err;
	err = recording_cut(cut, &part);
	recording_close(cut);
	return err;
}

static int zip(void)
{
	struct report report = a_report(1500000000999);
	struct buf out = BUF_INIT(1 << 20);
	int err = zip_report(&out, &report, "{}");

	buf_free(&out);
	return err;
}

static int answer(struct http *http, const struct http_request *request,
		  struct http_response *response)
{
	(void)http;
	(void)request;
	response->status = 200;
	return 0;
}

static void close_http(struct http *http)
{
	(void)http;
}

static int64_t tell_now(void)
{
	return 1000000000;
}

static int deliver(struct reporter *reporter)
{
	struct report report = a_report(1500000000999);
	int err = reporter->deliver(reporter, &report);

	reporter->close(reporter);
	return err;
}

static int upload(void)
{
	static char *const environment[] = { "AWS_ACCESS_KEY_ID=A", "AWS_SECRET_ACCESS_KEY=S",
					     "AWS_REGION=eu-west-1", "POD_NAME=p", NULL };
	static const struct config config = {
		.s3_bucket = "bucket", .profiling_group = "group", .metadata = "none", .tags = "k=v"
	};
	static struct http http = { .send = answer, .close = close_http };
	struct reporter *reporter;
	int err = s3_reporter_open_with(&reporter, &config, environment, &http, tell_now);

	return err ? err : deliver(reporter);
}

static int keep_locally(void)
{
	const struct config config = { .local_dir = folder, .local_max_bytes = 1u << 20 };
	struct reporter *reporter;
	int err = local_reporter_open(&reporter, &config);

	return err ? err : deliver(reporter);
}

static int store(struct store *store)
{
	struct report report = a_report(1500000000999);
	struct stored_report held;
	int err = store->put(store, &report, 1);

	if (!err)
		err = store->take(store, 1, NULL, &held);
	if (!err)
		store->settle(store, &held, 1);
	store->close(store);
	return err;
}

static int store_in_memory(void)
{
	struct store *memory;
	int err = store_memory_open(&memory, 1u << 20);

	return err ? err : store(memory);
}

static int spool(void)
{
	static const char *const names[] = { "s3" };
	struct store *directory;
	int err = store_spool_open(&directory, folder, 1u << 20, names, 1);

	return err ? err : store(directory);
}

static int read_elf(void)
{
	struct elf *elf;
	int err = elf_open(&elf, "/proc/self/exe");

	if (!err)
		elf_close(elf);
	return err;
}

static int name_addresses(void)
{
	const uintptr_t pcs[] = { (uintptr_t)name_addresses + 1, (uintptr_t)&suite_create + 1, 16 };
	struct symbol out[3];
	struct symbols *symbols;
	int err = modules_open();

	if (err)
		return err;
	err = symbols_open(&symbols);
	if (!err) {
		err = symbols_resolve(symbols, pcs, 3, out);
		for (int i = 0; !err && i < 3; i++)
			err = out[i].name[0] ? 0 : -EBADMSG;
		symbols_release(symbols);
		symbols_close(symbols);
	}
	modules_close();
	return err;
}

static int collect(void)
{
	static const uintptr_t pcs[] = { 0x1000, 0x2000 };
	static const chunk_settings none = { 0 };
	struct sample *sample;
	int fd = memory_file(), err = modules_open();

	if (err)
		goto out;
	err = collector_start(fd, &none, NULL, false);
	if (!err) {
		sample = ring_reserve_stack(0, SAMPLE_CPU, gettid(), pcs, 2, false);
		sample->weight = 1;
		ring_commit(sample);
		err = collector_stop();
	}
	modules_close();
out:
	close(fd);
	return err;
}

static const struct {
	const char *name;
	int (*run)(void);
	unsigned least;    /* allocations, or nothing was tested */
	bool does_without; /* something optional */
	unsigned lost;     /* at most: memory that a handler may read, and that is not freed */
} tasks[] = {
	{ "count samples", count_samples, 1, true, 0 },
	{ "cut a recording", cut_recording, 1, false, 0 },
	{ "make a zip file", zip, 1, false, 0 },
	{ "upload a report", upload, 10, false, 0 },
	{ "keep a report", keep_locally, 1, true, 0 },
	{ "store a report in memory", store_in_memory, 2, false, 0 },
	{ "store a report in a directory", spool, 2, false, 0 },
	{ "read an ELF file", read_elf, 1, false, 0 },
	{ "name addresses", name_addresses, 10, true, 2 },
	{ "collect", collect, 10, true, 3 },
};

#define COUNT (sizeof(tasks) / sizeof(*tasks))

static void fail_each(int i, bool rest)
{
	unsigned kept, made, n = 0, failures = 0;
	int err;

	/* Objects that are made once and stay are made now. */
	ck_assert_msg(tasks[i].run() == 0, "%s", tasks[i].name);
	do {
		kept = no_memory.live;
		no_memory_from(++n, rest);
		err = tasks[i].run();
		made = no_memory_end();
		ck_assert_msg(no_memory.live - kept <= tasks[i].lost,
			      "%s: allocation %u failed, and %u stay", tasks[i].name, n,
			      no_memory.live - kept);
		if (made < n)
			break;
		failures += err != 0;
		/* (With -EBADMSG the report would be dropped.) */
		ck_assert_msg((err && err != -EBADMSG) || (!err && tasks[i].does_without),
			      "%s: allocation %u failed, and %d came back", tasks[i].name, n, err);
	} while (n < 100000);
	ck_assert_msg(!err, "%s: %d, though no allocation failed", tasks[i].name, err);
	ck_assert_msg(n > tasks[i].least, "%s: %u allocations", tasks[i].name, n - 1);
	ck_assert_uint_gt(failures, 0);
}

START_TEST(one_fails)
{
	fail_each(_i, false);
}
END_TEST

START_TEST(all_fail_from_there)
{
	fail_each(_i, true);
}
END_TEST

static void set_up(void)
{
	static struct wake wake;

	recording_make();
	folder_make();
	cfi_lookup_init();
	ck_assert_int_eq(ring_open(1, 64u << 10, &wake), 0);
	ck_assert_int_eq(log_open(LOG_OFF, "/dev/null"), 0);
}

int main(void)
{
	TCase *tests = tcase_create("all");

	tcase_set_timeout(tests, 120);
	tcase_add_checked_fixture(tests, set_up, folder_remove);
	tcase_add_loop_test(tests, one_fails, 0, COUNT);
	tcase_add_loop_test(tests, all_fail_from_there, 0, COUNT);
	return suite_run(tests);
}
