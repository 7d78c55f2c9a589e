/* Recognizes system calls that wait for the server of a FUSE file system. */
#include "engine/wait/fuse_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/clock.h"
#include "engine/process/proc_file.h"
#include "engine/wait/wait_calls.h"

/* If there are more, every file counts as one of them. */
#define MOUNTS_MAX 64

#define CHECK_NS 1000000000u
/* At most one part in so many of the time is spent with reading. */
#define READING_PART 1000u

static struct {
	uint64_t next_ns; /* when mountinfo is read again */
	size_t count;     /* FUSE file systems, also those without room in IDS */
	int ids[MOUNTS_MAX];
} mounts;

/* LINE is "36 35 98:0 / /mnt rw,noatime shared:1 - fuse.sshfs source options". */
static bool line_is_fuse(const char *line)
{
	static const char separator[] = " - ";
	const char *type = strstr(line, separator);
	size_t length;

	if (!type)
		return false;
	type += strlen(separator);
	length = strcspn(type, " ");
	return (length == 4 && !strncmp(type, "fuse", 4)) ||
	       (length == 7 && !strncmp(type, "fuseblk", 7)) || !strncmp(type, "fuse.", 5) ||
	       !strncmp(type, "fuseblk.", 8);
}

static void mounts_read(const char *path)
{
	FILE *file = proc_file_open(path);
	char *line = NULL;
	size_t room = 0;

	mounts.count = 0;
	if (!file)
		return;
	while (getline(&line, &room, file) > 0) {
		if (!line_is_fuse(line))
			continue;
		if (mounts.count < MOUNTS_MAX)
			mounts.ids[mounts.count] = atoi(line);
		mounts.count++;
	}
	free(line);
	fclose(file);
}

static bool mounts_exist(void)
{
	uint64_t now_ns = clock_monotonic_ns(), took_ns;

	if (now_ns >= mounts.next_ns) {
		mounts_read("/proc/self/mountinfo");
		took_ns = clock_monotonic_ns() - now_ns;
		mounts.next_ns = now_ns + CHECK_NS + took_ns * READING_PART;
	}
	return mounts.count;
}

static bool descriptor_is_in_mounts(pid_t tid, int fd)
{
	static const char field[] = "mnt_id:";
	char name[32], text[512], *line;
	int id;

	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_file_read_of(tid, name, text, sizeof(text)) <= 0)
		return true; /* the call may close it */
	line = strstr(text, field);
	if (!line || mounts.count > MOUNTS_MAX)
		return true;
	id = atoi(line + strlen(field));
	for (size_t i = 0; i < mounts.count; i++)
		if (mounts.ids[i] == id)
			return true;
	return false;
}

/* The table has calls that wait for something else. Those which it does not have may be calls with a path. */
static bool call_is_in_mounts(pid_t tid, const struct thread_call *call)
{
	const struct wait_call *row = wait_call_find(call->number);

	if (!row)
		return true;
	switch (row->kind) {
	case WAIT_CALL_PATH:
		return true;
	case WAIT_CALL_OBJECT:
	case WAIT_CALL_READ:
	case WAIT_CALL_WRITE:
	case WAIT_CALL_FCNTL:
		return descriptor_is_in_mounts(tid, (int)call->arguments[row->argument]);
	default:
		return call->number == SYS_close || call->number == SYS_sync ||
		       call->number == SYS_msync;
	}
}

bool fuse_call_find(pid_t tid, struct thread_call *call)
{
	char text[256];

	return mounts_exist() && proc_file_read_of(tid, "syscall", text, sizeof(text)) > 0 &&
	       thread_call_parse(call, text) && call_is_in_mounts(tid, call);
}

bool fuse_call_is_one(pid_t tid, const struct thread_call *call, const char *mountinfo)
{
	mounts_read(mountinfo);
	return mounts.count && call_is_in_mounts(tid, call);
}
