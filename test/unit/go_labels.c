/* Labels of goroutines, in structures as Go has them, and in invalid ones. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "engine/runtime/go/go_labels.h"
#include "test/fixtures/suite.h"

struct go_string {
	const char *bytes;
	uint64_t length;
};

#define STRING(text)                     \
	{                                \
		(text), sizeof(text) - 1 \
	}

struct machine {
	uintptr_t unknown[4];
	void *user;
};

struct goroutine {
	uintptr_t unknown[3];
	struct machine *machine;
	const void *labels;
};

struct slice {
	const void *at;
	uint64_t count, room;
};

struct map {
	uint64_t count;
	uint8_t flags, shift;
	const void *buckets;
};

struct bucket {
	uint8_t used[8];
	struct go_string keys[8], values[8];
	void *next;
};

static __thread void *volatile current;

static struct machine machine;
static struct goroutine user = { .machine = &machine }, system_goroutine = { .machine = &machine };
static char out[512];

/* The labels, with ';' for each NUL. A count is the same as what is written then. */
static const char *labels_within(size_t max)
{
	size_t size = go_labels_copy(NULL, max);

	ck_assert_uint_le(size, max);
	memset(out, '!', sizeof(out));
	ck_assert_uint_eq(go_labels_copy(out, max), size);
	ck_assert_int_eq(out[size], '!');
	for (size_t i = 0; i < size; i++)
		out[i] = out[i] ? out[i] : ';';
	out[size] = '\0';
	return out;
}

static const char *labels(void)
{
	return labels_within(sizeof(out) - 1);
}

static void use_layout(bool is_map)
{
	const struct go_labels_layout layout = {
		.current = (intptr_t)((uintptr_t)&current - thread_pointer()),
		.machine = offsetof(struct goroutine, machine),
		.user = offsetof(struct machine, user),
		.labels = offsetof(struct goroutine, labels),
		.is_map = is_map,
	};

	go_labels_use(&layout);
	machine.user = &user;
	current = &system_goroutine;
}

static const struct go_string two[][2] = { { STRING("route"), STRING("/pay") },
					   { STRING("user"), STRING("7\0"
								    "8") } };

START_TEST(slices_are_read)
{
	struct slice slice = { two, 2, 2 };

	ck_assert_str_eq(labels(), ""); /* in a program without Go */
	use_layout(false);
	ck_assert_str_eq(labels(), "");
	ck_assert(!go_labels_exist());
	user.labels = &slice;
	ck_assert_str_eq(labels(), "route;/pay;user;7 8;");
	ck_assert(go_labels_exist());

	/* Whole labels, as many as there is room for. */
	ck_assert_str_eq(labels_within(20), "route;/pay;user;7 8;");
	ck_assert_str_eq(labels_within(19), "route;/pay;");
	ck_assert_str_eq(labels_within(10), "user;7 8;");
	ck_assert_str_eq(labels_within(0), "");

	/* In a thread that runs no goroutine, or is not Go's. */
	machine.user = NULL;
	ck_assert_str_eq(labels(), "");
	current = NULL;
	ck_assert_str_eq(labels(), "");
}
END_TEST

START_TEST(maps_are_read)
{
	static struct bucket buckets[2] = {
		{ .used = { 0, 200, 4, 5 },
		  .keys = { STRING("-"), STRING("a"), STRING("-"), STRING("b") },
		  .values = { STRING("-"), STRING("1"), STRING("-"), STRING("2") } },
		{ .used = { [7] = 255 }, .keys[7] = STRING("c"), .values[7] = STRING("3") },
	};
	struct map map = { .count = 2, .buckets = buckets };
	const void *labels_value = &map;

	use_layout(true);
	user.labels = &labels_value;
	ck_assert_str_eq(labels(), "a;1;b;2;");
	map.shift = 1;
	ck_assert_str_eq(labels(), "a;1;b;2;c;3;");
	map.shift = 255;
	ck_assert_str_eq(labels(), "");
	labels_value = NULL;
	ck_assert_str_eq(labels(), "");
}
END_TEST

/* Another version of Go could have other offsets. */
START_TEST(invalid_data_gives_no_labels)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct go_string list[3][2];
	struct slice slice = { list, 3, 3 };
	struct machine other = { .user = &user };

	ck_assert_ptr_ne(pages, MAP_FAILED);
	munmap(pages + page, page);
	memcpy(list, two, sizeof(two));
	use_layout(false);
	user.labels = &slice;

	list[2][0] = (struct go_string){ pages + page - 1, 2 };
	list[2][1] = (struct go_string)STRING("value");
	ck_assert_uint_eq(go_labels_copy(NULL, 500), 29);
	ck_assert_uint_eq(go_labels_copy(out, 500),
			  20); /* without the last one, which has no bytes */
	list[2][0] = (struct go_string){ "key", UINT64_MAX };
	ck_assert_str_eq(labels(), "route;/pay;user;7 8;");
	list[2][0] = (struct go_string){ "key", UINT64_MAX / 2 };
	list[2][1] = (struct go_string){ "value", UINT64_MAX / 2 + 2 };
	ck_assert_str_eq(labels(), "route;/pay;user;7 8;");

	slice.count = UINT64_MAX;
	slice.at = pages + page - sizeof(two);
	memcpy(pages + page - sizeof(two), two, sizeof(two));
	ck_assert_str_eq(labels(), "route;/pay;user;7 8;");
	memset(pages, 0, page);
	slice.at = pages; /* a page of empty labels */
	ck_assert_str_eq(labels(), "");

	user.labels = (void *)8;
	ck_assert_str_eq(labels(), "");
	user.labels = &slice;
	slice.at = two;
	user.machine = &other;
	ck_assert_str_eq(labels(), "");
	machine.user = (void *)UINTPTR_MAX;
	ck_assert_str_eq(labels(), "");
	current = (void *)16;
	ck_assert_str_eq(labels(), "");
	munmap(pages, page);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("go_labels");

	tcase_add_test(tcase, slices_are_read);
	tcase_add_test(tcase, maps_are_read);
	tcase_add_test(tcase, invalid_data_gives_no_labels);
	return suite_run(tcase);
}
