/* profile/aggregate/preload_frames: the preload's frames in async-profiler's stacks. */
#include "profile/aggregate/preload_frames.h"

#include <string.h>

#include "test/fixtures/suite.h"

#define OURS "@libasprof_preload.so "

/* Frames, innermost first, each NAME@LIBRARY; names that begin with k: are the kernel's. */
static const struct {
	const char *stack, *left;
} cases[] = {
	{ "poll@libc.so.6 main@app ", "poll@libc.so.6 main@app " },
	/* Between the program and its C library, and around its handlers and threads. */
	{ "poll@libc.so.6 poll" OURS "main@app ", "poll@libc.so.6 main@app " },
	{ "burn@app on_signal" OURS "__restore_rt@libc.so.6 start" OURS "clone@libc.so.6 ",
	  "burn@app __restore_rt@libc.so.6 clone@libc.so.6 " },
	/* A call that is made by another one, of which only the first leads to the C library's
	 * function of its name. */
	{ "poll@libc.so.6 nanosleep@libc.so.6 nanosleep" OURS "usleep" OURS
	  "main@app read@libc.so.6 read" OURS "f@app ",
	  "poll@libc.so.6 nanosleep@libc.so.6 usleep@libc.so.6 main@app read@libc.so.6 f@app " },
	/* The innermost is a call of the program. */
	{ "usleep" OURS "main@app main@libc.so.6 ", "usleep@libc.so.6 main@app main@libc.so.6 " },
	{ "again" OURS "poll" OURS "main@app f@ld-musl-x86_64.so.1 ",
	  "poll@ld-musl-x86_64.so.1 main@app f@ld-musl-x86_64.so.1 " },
	{ "poll" OURS "read" OURS "main@app f@libc-2.31.so ",
	  "read@libc-2.31.so main@app f@libc-2.31.so " },
	{ "read.cold" OURS "main@app ", "read@libc.so.6 main@app " },
	{ "read:77" OURS "main@app ", "read@libc.so.6 main@app " },
	{ "k:sleep@ k:enter@ again" OURS "usleep" OURS "main@app ",
	  "k:sleep@ k:enter@ usleep@libc.so.6 main@app " },
	/* Not a call: a symbol that a library without other symbols has for its functions, which
	 * the program cannot call. */
	{ "/opt/libasprof_preload.so" OURS "main@app ", "main@app " },
	{ "re" OURS "ead" OURS "threads" OURS "main@app ", "main@app " },
	{ "asprof_agent_flush" OURS "main@app ", "main@app " },
	/* By its whole path, and a library of the same name elsewhere. */
	{ "f@libc.so.6 poll@/opt/libasprof_preload.so main@app ", "f@libc.so.6 main@app " },
	{ "poll@not_libasprof_preload.so ", "poll@not_libasprof_preload.so " },
	/* Only the preload's frames: a thread of the profiler. */
	{ "wait" OURS "loop" OURS, "wait" OURS "loop" OURS },
	{ "k:sleep@ wait" OURS, "k:sleep@ wait" OURS },
	/* The same, if an unverified frame has the kernel's frames in the preload. */
	{ "k:sleep" OURS "wait" OURS, "k:sleep" OURS "wait" OURS },
	{ "k:sleep" OURS "wait" OURS "main@app ", "k:sleep" OURS "main@app " },
	{ "", "" },
};

static void push(struct resolve *r, const char *text, size_t length)
{
	const char *at = memchr(text, '@', length);
	struct frame frame = { .type = strncmp(text, "k:", 2) ? JFR_FRAME_CPP : JFR_FRAME_KERNEL };
	uint32_t id;

	ck_assert_ptr_nonnull(at);
	frame.name = intern(&r->profile->names, text, (size_t)(at - text));
	if (at + 1 < text + length)
		frame.module = intern(&r->profile->names, at + 1, (size_t)(text + length - at - 1));
	id = intern(&r->profile->frames, &frame, sizeof(frame));
	ck_assert_int_eq(buf_append(&r->stack, &id, sizeof(id)), 0);
}

START_TEST(leaves_out)
{
	struct profile profile = PROFILE_INIT;
	struct resolve r = { .profile = &profile, .stack = BUF_INIT(4096) };
	struct buf left = BUF_INIT(4096);
	const uint32_t *ids;

	for (const char *at = cases[_i].stack; *at; at += strcspn(at, " ") + 1)
		push(&r, at, strcspn(at, " "));
	preload_frames_remove(&r);
	ids = (const uint32_t *)(const void *)r.stack.data;
	for (size_t i = 0; i < r.stack.length / sizeof(*ids); i++)
		buf_printf(&left, "%s@%s ", profile_frame_name(&profile, ids[i]),
			   intern_text(&profile.names, profile_frame(&profile, ids[i])->module));
	ck_assert_str_eq(left.length ? buf_string(&left) : "", cases[_i].left);
	buf_free(&left);
	buf_free(&r.stack);
	profile_free(&profile);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("preload_frames");

	tcase_add_loop_test(tcase, leaves_out, 0, (int)(sizeof(cases) / sizeof(cases[0])));
	return suite_run(tcase);
}
