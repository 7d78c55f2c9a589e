/* Calls on a FUSE file system whose server is slow, and ends a request with EINTR at an interrupt. Bare, no call fails.
 *   fuse_calls serve FOLDER COMMAND...   mount it in a mount namespace of its own, and execute COMMAND
 *   fuse_calls FOLDER MS                 four threads make calls there for MS; prints the number that failed, and "ok" */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS     4
#define REQUESTS    16
#define DELAY_MS    20
#define FILE_NODE   2
#define FILE_BYTES  4096
#define REQUEST_MAX (64 << 10)

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Requests that wait; unique 0: none. */
static struct {
	uint64_t unique;
	uint32_t opcode;
	int64_t due_ms;
} waiting[REQUESTS];

static int device;

static void answer(uint64_t unique, int error, const void *body, size_t length)
{
	struct {
		struct fuse_out_header header;
		char body[256];
	} out = { .header = { .len = (uint32_t)(sizeof(out.header) + length),
			      .error = error,
			      .unique = unique } };

	if (length)
		memcpy(out.body, body, length);
	if (write(device, &out, out.header.len) < 0 && errno != ENOENT)
		perror("fuse_calls: write");
}

static struct fuse_attr attributes(uint64_t node)
{
	bool is_file = node == FILE_NODE;

	return (struct fuse_attr){ .ino = node,
				   .size = is_file ? FILE_BYTES : 0,
				   .mode = is_file ? S_IFREG | 0644 : S_IFDIR | 0755,
				   .nlink = 1 };
}

static void answer_late(uint64_t unique, uint32_t opcode)
{
	struct fuse_entry_out entry = { .nodeid = FILE_NODE, .attr = attributes(FILE_NODE) };

	if (opcode == FUSE_LOOKUP)
		answer(unique, 0, &entry, sizeof(entry));
	else
		answer(unique, 0, "x", opcode == FUSE_READ);
}

static void wait_with(const struct fuse_in_header *in)
{
	for (int i = 0; i < REQUESTS; i++) {
		if (waiting[i].unique)
			continue;
		waiting[i].unique = in->unique;
		waiting[i].opcode = in->opcode;
		waiting[i].due_ms = now_ms() + DELAY_MS;
		return;
	}
	answer_late(in->unique, in->opcode);
}

static void interrupt(uint64_t unique)
{
	for (int i = 0; i < REQUESTS; i++) {
		if (waiting[i].unique != unique)
			continue;
		waiting[i].unique = 0;
		answer(unique, -EINTR, NULL, 0);
	}
}

static void serve_one(const struct fuse_in_header *in)
{
	const void *argument = in + 1;
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = 31,
				      .max_write = 4096 };
	struct fuse_attr_out attr = { .attr = attributes(in->nodeid) };
	struct fuse_open_out opened = { .open_flags = FOPEN_DIRECT_IO };

	switch (in->opcode) {
	case FUSE_INIT:
		answer(in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_GETATTR:
		answer(in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_LOOKUP:
	case FUSE_READ:
	case FUSE_FLUSH:
		wait_with(in);
		break;
	case FUSE_INTERRUPT:
		interrupt(((const struct fuse_interrupt_in *)argument)->unique);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break;
	case FUSE_RELEASE:
		answer(in->unique, 0, NULL, 0);
		break;
	default:
		answer(in->unique, -ENOSYS, NULL, 0);
	}
}

static void serve(void)
{
	static _Alignas(8) char request[REQUEST_MAX];
	struct pollfd polled = { .fd = device, .events = POLLIN };

	for (;;) {
		if (poll(&polled, 1, 1) > 0) {
			if (read(device, request, sizeof(request)) > 0)
				serve_one((const struct fuse_in_header *)request);
			else if (errno == ENODEV)
				exit(0);
		}
		for (int i = 0; i < REQUESTS; i++) {
			if (!waiting[i].unique || now_ms() < waiting[i].due_ms)
				continue;
			answer_late(waiting[i].unique, waiting[i].opcode);
			waiting[i].unique = 0;
		}
	}
}

static int mount_and_execute(const char *folder, char **command)
{
	char options[64];
	pid_t parent = getpid();

	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	if (device < 0 || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("fuse_calls", folder, "fuse", MS_NOSUID | MS_NODEV, options)) {
		printf("no FUSE: %s\n", strerror(errno));
		return 77;
	}
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			serve();
		_exit(1);
	}
	execvp(command[0], command);
	return 127;
}

static const char *folder;
static int64_t end_ms;
static atomic_int calls, failures;

static void check(bool is_right, const char *call)
{
	atomic_fetch_add(&calls, 1);
	if (is_right)
		return;
	atomic_fetch_add(&failures, 1);
	printf("%s: %s\n", call, strerror(errno));
}

static void *call_repeatedly(void *unused)
{
	struct stat status;
	char path[256], byte;
	int fd;

	snprintf(path, sizeof(path), "%s/slow", folder);
	while (now_ms() < end_ms) {
		check(!stat(path, &status), "stat");
		fd = open(path, O_RDONLY | O_CLOEXEC);
		check(fd >= 0, "open");
		if (fd < 0)
			continue;
		check(read(fd, &byte, 1) == 1, "read");
		check(!close(fd), "close");
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc > 3 && !strcmp(argv[1], "serve"))
		return mount_and_execute(argv[2], argv + 3);
	if (argc != 3)
		return 2;
	folder = argv[1];
	end_ms = now_ms() + atol(argv[2]);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, call_repeatedly, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%d of %d calls failed\n%s\n", failures, calls, failures ? "bad" : "ok");
	return failures != 0;
}
