/* Table of the system calls that may wait. */
#include "engine/wait/wait_calls.h"

#include <string.h>
#include <sys/syscall.h>

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* clang-format off */
#define CALL(name, kind, cause, argument) \
	{ SYS_##name, #name, WAIT_CALL_##kind, WAIT_##cause, argument, WAIT_TIMEOUT_NONE, 0 }
#define LOOP(name, kind, argument, timeout_kind, timeout) \
	{ SYS_##name, #name, WAIT_CALL_##kind, WAIT_IDLE, argument, WAIT_TIMEOUT_##timeout_kind, timeout }

static const struct wait_call calls[] = {
	CALL(futex, FUTEX, LOCK, 0),
	CALL(read, READ, FILE, 0),
	CALL(write, WRITE, FILE, 0),
	CALL(recvfrom, READ, SOCKET_READ, 0),
	CALL(recvmsg, READ, SOCKET_READ, 0),
	CALL(recvmmsg, READ, SOCKET_READ, 0),
	CALL(sendto, WRITE, SOCKET_WRITE, 0),
	CALL(sendmsg, WRITE, SOCKET_WRITE, 0),
	CALL(sendmmsg, WRITE, SOCKET_WRITE, 0),
	CALL(readv, READ, FILE, 0),
	CALL(writev, WRITE, FILE, 0),
	CALL(pread64, READ, FILE, 0),
	CALL(pwrite64, WRITE, FILE, 0),
	CALL(preadv, READ, FILE, 0),
	CALL(pwritev, WRITE, FILE, 0),
	CALL(preadv2, READ, FILE, 0),
	CALL(pwritev2, WRITE, FILE, 0),
	CALL(sendfile, WRITE, SOCKET_WRITE, 0),
	CALL(splice, READ, PIPE_READ, 0),
	CALL(tee, READ, PIPE_READ, 0),
	CALL(vmsplice, WRITE, PIPE_WRITE, 0),
	CALL(copy_file_range, OBJECT, FILE, 0),

	CALL(accept, OBJECT, ACCEPT, 0),
	CALL(accept4, OBJECT, ACCEPT, 0),
	CALL(connect, CONNECT, CONNECT, 0),
	CALL(shutdown, OBJECT, SOCKET_WRITE, 0),

	LOOP(ppoll, POLL, 0, POINTER, 2),
	LOOP(pselect6, SELECT, 0, POINTER, 4),
	LOOP(epoll_pwait, PLAIN, 0, MS, 3),
#ifdef SYS_epoll_pwait2
	LOOP(epoll_pwait2, PLAIN, 0, POINTER, 3),
#endif
#ifdef SYS_io_uring_enter
	LOOP(io_uring_enter, PLAIN, 0, RING, 4),
#endif
	LOOP(rt_sigtimedwait, PLAIN, 0, POINTER, 2),
	LOOP(rt_sigsuspend, PLAIN, 0, NONE, 0),
	CALL(nanosleep, PLAIN, SLEEP, 0),
	CALL(clock_nanosleep, PLAIN, SLEEP, 0),

	CALL(wait4, WAIT4, CHILD, 0),
	CALL(waitid, WAITID, CHILD, 0),
	CALL(clone, PLAIN, CHILD, 0),
#ifdef SYS_clone3
	CALL(clone3, PLAIN, CHILD, 0),
#endif
	CALL(semop, PLAIN, SEMAPHORE, 0),
	CALL(semtimedop, PLAIN, SEMAPHORE, 0),
	CALL(flock, OBJECT, LOCK, 0),
	CALL(fcntl, FCNTL, LOCK, 0),
	CALL(mq_timedreceive, PLAIN, SYSCALL, 0),
	CALL(mq_timedsend, PLAIN, SYSCALL, 0),
	CALL(msgrcv, PLAIN, SYSCALL, 0),
	CALL(msgsnd, PLAIN, SYSCALL, 0),

	CALL(fsync, OBJECT, FILE, 0),
	CALL(fdatasync, OBJECT, FILE, 0),
	CALL(sync_file_range, OBJECT, FILE, 0),
	CALL(syncfs, OBJECT, FILE, 0),
	CALL(sync, PLAIN, FILE, 0),
	CALL(msync, PLAIN, FILE, 0),
	CALL(fallocate, OBJECT, FILE, 0),
	CALL(ftruncate, OBJECT, FILE, 0),
	CALL(truncate, PATH, FILE, 0),
	CALL(fadvise64, OBJECT, FILE, 0),
	CALL(readahead, OBJECT, FILE, 0),
	CALL(getdents64, OBJECT, FILE, 0),
	CALL(openat, PATH, FILE, 1),
#ifdef SYS_openat2
	CALL(openat2, PATH, FILE, 1),
#endif
	CALL(close, PLAIN, FILE, 0),
	CALL(newfstatat, PATH, FILE, 1),
	CALL(fstat, OBJECT, FILE, 0),
	CALL(statx, PATH, FILE, 1),
	CALL(statfs, PATH, FILE, 0),
	CALL(fstatfs, OBJECT, FILE, 0),
	CALL(faccessat, PATH, FILE, 1),
	CALL(readlinkat, PATH, FILE, 1),
	CALL(unlinkat, PATH, FILE, 1),
	CALL(renameat2, PATH, FILE, 1),
	CALL(mkdirat, PATH, FILE, 1),
	CALL(linkat, PATH, FILE, 1),
	CALL(symlinkat, PATH, FILE, 2),
	CALL(fchmodat, PATH, FILE, 1),
	CALL(fchownat, PATH, FILE, 1),
	CALL(utimensat, PATH, FILE, 1),
	CALL(execve, PATH, FILE, 0),
	CALL(io_getevents, PLAIN, FILE, 0),
	CALL(io_submit, PLAIN, FILE, 0),

	CALL(ioctl, OBJECT, SYSCALL, 0),
	CALL(mmap, PLAIN, SYSCALL, 0),
	CALL(munmap, PLAIN, SYSCALL, 0),
	CALL(mprotect, PLAIN, SYSCALL, 0),
	CALL(mremap, PLAIN, SYSCALL, 0),
	CALL(madvise, PLAIN, SYSCALL, 0),
	CALL(brk, PLAIN, SYSCALL, 0),
	CALL(membarrier, PLAIN, SYSCALL, 0),
	CALL(getrandom, PLAIN, SYSCALL, 0),
	CALL(restart_syscall, PLAIN, SYSCALL, 0),
	CALL(exit, PLAIN, SYSCALL, 0),
	CALL(exit_group, PLAIN, SYSCALL, 0),

	/* Older calls, which only some processors have. */
#ifdef SYS_poll
	LOOP(poll, POLL, 0, MS, 2),
	LOOP(select, SELECT, 0, POINTER, 4),
	LOOP(epoll_wait, PLAIN, 0, MS, 3),
	LOOP(pause, PLAIN, 0, NONE, 0),
	CALL(vfork, PLAIN, CHILD, 0),
	CALL(open, PATH, FILE, 0),
	CALL(stat, PATH, FILE, 0),
	CALL(lstat, PATH, FILE, 0),
	CALL(access, PATH, FILE, 0),
	CALL(unlink, PATH, FILE, 0),
	CALL(rename, PATH, FILE, 0),
	CALL(mkdir, PATH, FILE, 0),
	CALL(rmdir, PATH, FILE, 0),
	CALL(readlink, PATH, FILE, 0),
#endif
};

/* Prefixes of the kernel's functions; the first match counts. */
static const struct {
	const char *prefix;
	enum wait_cause cause;
} functions[] = {
	{ "futex_", WAIT_LOCK },
	{ "ep_poll", WAIT_IDLE },
	{ "do_epoll", WAIT_IDLE },
	{ "poll_schedule", WAIT_IDLE },
	{ "do_poll", WAIT_IDLE },
	{ "do_sys_poll", WAIT_IDLE },
	{ "do_select", WAIT_IDLE },
	{ "io_cqring_wait", WAIT_IDLE },
	{ "do_sigtimedwait", WAIT_IDLE },
	{ "sigsuspend", WAIT_IDLE },
	{ "hrtimer_nanosleep", WAIT_SLEEP },
	{ "do_nanosleep", WAIT_SLEEP },
	{ "common_nsleep", WAIT_SLEEP },
	{ "do_wait", WAIT_CHILD },
	{ "kernel_wait", WAIT_CHILD },
	{ "anon_pipe_read", WAIT_PIPE_READ },
	{ "anon_pipe_write", WAIT_PIPE_WRITE },
	{ "pipe_read", WAIT_PIPE_READ },
	{ "pipe_wait_readable", WAIT_PIPE_READ },
	{ "pipe_write", WAIT_PIPE_WRITE },
	{ "pipe_wait_writable", WAIT_PIPE_WRITE },
	{ "inet_csk_accept", WAIT_ACCEPT },
	{ "unix_accept", WAIT_ACCEPT },
	{ "inet_stream_connect", WAIT_CONNECT },
	{ "inet_wait_for_connect", WAIT_CONNECT },
	{ "unix_wait_for_peer", WAIT_CONNECT },
	{ "wait_woken", WAIT_SOCKET_READ }, /* (a full socket, too, and a terminal) */
	{ "sk_wait_data", WAIT_SOCKET_READ },
	{ "tcp_recvmsg", WAIT_SOCKET_READ },
	{ "__skb_wait_for", WAIT_SOCKET_READ },
	{ "unix_stream_data_wait", WAIT_SOCKET_READ },
	{ "unix_stream_read", WAIT_SOCKET_READ },
	{ "sk_stream_wait", WAIT_SOCKET_WRITE },
	{ "sock_alloc_send", WAIT_SOCKET_WRITE },
	{ "sock_wait_for", WAIT_SOCKET_WRITE },
	{ "do_semtimedop", WAIT_SEMAPHORE },
	{ "locks_lock", WAIT_LOCK },
	{ "flock_lock", WAIT_LOCK },
	{ "timerfd_read", WAIT_TIMER },
	{ "eventfd_read", WAIT_SEMAPHORE },
	{ "io_schedule", WAIT_FILE },
	{ "folio_wait", WAIT_FILE },
	{ "__folio_lock", WAIT_FILE },
	{ "__filemap_", WAIT_FILE },
	{ "inode_wait_for_writeback", WAIT_FILE },
	{ "__sync_dirty_buffer", WAIT_FILE },
	{ "ext4_", WAIT_FILE },
	{ "wait_on_page", WAIT_FILE },
	{ "jbd2_", WAIT_FILE },
	{ "xfs_", WAIT_FILE },
	{ "blk_", WAIT_FILE },
	{ "submit_bio_wait", WAIT_FILE },
	{ "blkdev_", WAIT_FILE },
	{ "fuse_", WAIT_FILE },
	{ "request_wait_answer", WAIT_FILE },
	{ "nfs", WAIT_FILE },
	{ "rpc_wait", WAIT_FILE },
};
/* clang-format on */

const struct wait_call *wait_call_find(long number)
{
	for (size_t i = 0; i < COUNT(calls); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

enum wait_cause wait_cause_of_function(const char *name)
{
	for (size_t i = 0; i < COUNT(functions); i++)
		if (!strncmp(name, functions[i].prefix, strlen(functions[i].prefix)))
			return functions[i].cause;
	return WAIT_SYSCALL;
}
