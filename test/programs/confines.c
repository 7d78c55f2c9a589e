/* Works in before(), enters a Landlock domain, and works in inside(). After that, no thread but the
 * program's own may be outside the domain.
 * Usage: confines HOW DIR
 *   some      all may be read, and DIR may be written to
 *   nothing   all may be read, and nothing be written
 *   closed    DIR may be read and written to, and nothing else
 *   all       as some, in all threads at once if the kernel can, with another thread that works
 *   thread    as some, in a separate thread, which works there too; the main thread waits outside
 *   threads   as some, by many threads at the same time, each in its own domain: a thread in one of
 *             them is not outside
 *   child     as some, in a forked child, while its parent works outside
 *   fails     the call fails
 *   asks      the call is about the kernel's log, and makes no domain
 * Status 77 if the kernel cannot do that, 3 if a thread is outside, and 4 if the test passes. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/programs/check.h"

/* Older headers do not have these. */
#define CREATE_RULESET 444
#define ADD_RULE       445
#define RESTRICT_SELF  446
#define ASK_VERSION    1u
#define PATH_BENEATH   1
#define IN_ALL_THREADS 8u                  /* from version 8 on */
#define NOT_LOGGED     4u                  /* from version 7 on */
#define READ_RIGHTS    (1u << 2 | 1u << 3) /* files and directories */

struct ruleset {
	uint64_t rights;
};

struct beneath {
	uint64_t rights;
	int32_t parent;
} __attribute__((packed));

#define BEFORE_MS 300
#define INSIDE_MS 320 /* another function for the compiler, too */
#define THREADS   4

static DIR *tasks; /* opened before it may be forbidden */
static unsigned int flags;
static atomic_int confined, is_over, own_count, outsiders;
static pid_t own[THREADS + 1]; /* threads that are not the agent's */
static pthread_barrier_t barrier;
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

static void work(clock_t ms)
{
	struct timespec start, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

void before(void);
void inside(void);

__attribute__((noinline)) void before(void)
{
	work(BEFORE_MS);
	atomic_signal_fence(memory_order_seq_cst); /* a call, not a jump */
}

__attribute__((noinline)) void inside(void)
{
	work(INSIDE_MS);
	atomic_signal_fence(memory_order_seq_cst);
}

/* The file rights that the kernel knows. */
static uint64_t all_rights(long version)
{
	return version >= 5 ? 0xffff : version >= 3 ? 0x7fff : version == 2 ? 0x3fff : 0x1fff;
}

static void add_rule(int ruleset, const char *path, uint64_t rights)
{
	struct beneath rule = { .rights = rights };

	rule.parent = open(path, O_PATH | O_CLOEXEC);
	CHECK(rule.parent >= 0);
	CHECK(!syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0));
	close(rule.parent);
}

static int make_ruleset(const char *how, const char *dir)
{
	long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
	struct ruleset attr;
	int ruleset;

	if (version < 1)
		exit(77);
	if (!strcmp(how, "all") && version >= 8)
		flags = IN_ALL_THREADS;
	if (!strcmp(how, "asks") && version < 7)
		exit(77);
	attr.rights = all_rights(version);
	ruleset = (int)syscall(CREATE_RULESET, &attr, sizeof(attr), 0);
	CHECK(ruleset >= 0);
	if (strcmp(how, "closed") != 0)
		add_rule(ruleset, "/", READ_RIGHTS);
	if (strcmp(how, "nothing") != 0)
		add_rule(ruleset, dir, attr.rights);
	return ruleset;
}

static void enter(int ruleset)
{
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!syscall(RESTRICT_SELF, ruleset, flags));
	atomic_store(&confined, 1);
}

static void note_own(void)
{
	own[atomic_fetch_add(&own_count, 1)] = (pid_t)syscall(SYS_gettid);
}

static int is_own(pid_t tid)
{
	for (int i = 0; i < atomic_load(&own_count); i++)
		if (own[i] == tid)
			return 1;
	return 0;
}

/* In a child, which is in its parent's domain: a thread in that domain, too, may be examined. */
static int finds_outsider(pid_t parent)
{
	char path[300], target[300];
	struct dirent *entry;

	rewinddir(tasks);
	while ((entry = readdir(tasks))) {
		if (entry->d_name[0] == '.' || is_own(atoi(entry->d_name)))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/exe", parent, entry->d_name);
		if (readlink(path, target, sizeof(target)) < 0 && errno == EACCES)
			return 1;
	}
	return 0;
}

/* By one thread at a time: a child has its parent's entry in the list. */
static int there_is_an_outsider(void)
{
	pid_t parent = getpid(), pid;
	int status;

	CHECK(!pthread_mutex_lock(&looking));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		_exit(finds_outsider(parent));
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	CHECK(!pthread_mutex_unlock(&looking));
	return WEXITSTATUS(status);
}

static void go_in(int ruleset)
{
	enter(ruleset);
	outsiders = there_is_an_outsider();
	inside();
	outsiders |= there_is_an_outsider();
}

static void *in_thread(void *ruleset)
{
	note_own();
	go_in(*(int *)ruleset);
	return NULL;
}

/* None ends before the others: a thread of the agent could be its copy. */
static void *at_the_same_time(void *ruleset)
{
	note_own();
	pthread_barrier_wait(&barrier);
	enter(*(int *)ruleset);
	pthread_barrier_wait(&barrier);
	inside();
	atomic_fetch_add(&outsiders, there_is_an_outsider());
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void *work_elsewhere(void *unused)
{
	note_own();
	while (!atomic_load(&confined))
		usleep(1000);
	inside();
	while (!atomic_load(&is_over))
		usleep(1000);
	return unused;
}

static void run_threads(void *(*run)(void *), int *ruleset, size_t count)
{
	pthread_t threads[THREADS];

	CHECK(!pthread_barrier_init(&barrier, NULL, (unsigned int)count));
	for (size_t i = 0; i < count; i++)
		CHECK(!pthread_create(&threads[i], NULL, run, ruleset));
	for (size_t i = 0; i < count; i++)
		CHECK(!pthread_join(threads[i], NULL));
}

static void run_child(int ruleset)
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		enter(ruleset);
		inside();
		exit(4);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 4);
	before();
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	int ruleset;
	pthread_t thread;

	CHECK(argc == 3);
	ruleset = make_ruleset(how, argv[2]);
	tasks = opendir("/proc/self/task");
	CHECK(tasks);
	note_own();
	before();
	if (!strcmp(how, "fails")) {
		CHECK(syscall(RESTRICT_SELF, STDIN_FILENO, 0) < 0);
		inside();
	} else if (!strcmp(how, "asks")) {
		CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
		CHECK(!syscall(RESTRICT_SELF, -1, NOT_LOGGED));
		inside();
	} else if (!strcmp(how, "child")) {
		run_child(ruleset);
	} else if (!strcmp(how, "thread")) {
		run_threads(in_thread, &ruleset, 1);
	} else if (!strcmp(how, "threads")) {
		run_threads(at_the_same_time, &ruleset, THREADS);
		outsiders = outsiders == THREADS;
	} else if (!strcmp(how, "all") && flags) {
		CHECK(!pthread_create(&thread, NULL, work_elsewhere, NULL));
		go_in(ruleset);
		atomic_store(&is_over, 1);
		CHECK(!pthread_join(thread, NULL));
	} else if (!strcmp(how, "all")) {
		return 77;
	} else {
		go_in(ruleset);
	}
	return outsiders ? 3 : 4;
}
