/* Privileges of the agent's threads: never more than the program's. */
#include "core/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/fd.h"
#include "core/kernel.h"
#include "core/own_fds.h"
#include "core/own_thread.h"
#include "core/shared.h"
#include "core/system.h"

/* Sizes of the buffer for /proc's status file: on the stack, so that a program without free memory is still profiled,
 * and at most. A process may be in 65,536 groups, which the file lists. */
#define STATUS_FEW 4096u
#define STATUS_MAX (1u << 20)

/* So many groups need no memory. */
#define GROUPS_FEW 64

enum id { REAL, EFFECTIVE, SAVED, OF_FILES, IDS };

/* Capability sets, as /proc names them. */
enum caps { INHERITABLE, PERMITTED, IN_FORCE, BOUNDING, AMBIENT, CAPS };

struct privileges {
	uint32_t uids[IDS], gids[IDS];
	gid_t few[GROUPS_FEW];
	gid_t *mapped; /* instead of FEW; NULL: none */
	size_t mapped_bytes, group_count;
	uint64_t caps[CAPS];
	bool no_new;
	bool gone; /* the thread has ended, but is still listed */
};

static __thread struct {
	bool has_nothing_to_drop; /* no more checks are needed */
	int err;                  /* result of the last check */
	bool has_dropped;
	uint32_t changes;
	_Atomic uint32_t *
		followed; /* FOLLOWED of this thread's entry in the checkers; NULL: not registered */
	bool is_woken;    /* another thread wakes this one for a check */
	uint64_t due_ns;
} self;

/* Value of shared->privileges.holder: no own thread has anything to drop. */
#define NO_HOLDER_NEEDED (-1)

#define CAP_BIT(cap) (UINT64_C(1) << (cap))

static void privileges_free(struct privileges *p)
{
	if (p->mapped)
		system_unmap(p->mapped, p->mapped_bytes);
	p->mapped = NULL;
}

static const gid_t *groups_of(const struct privileges *p)
{
	return p->mapped ? p->mapped : p->few;
}

/* Content of a file. No allocator is called: the program's may be locked by a thread that waits for the caller.
 * async-profiler writes in signal handlers, also during fork(2). */
struct text {
	char few[STATUS_FEW];
	char *bytes; /* FEW or mapped; ends with a NUL */
	size_t size;
};

static void text_buffer_free(struct text *text)
{
	if (text->bytes && text->bytes != text->few)
		system_unmap(text->bytes, text->size);
}

static int file_read_all(int fd, struct text *text)
{
	size_t length;
	long n;

	text->bytes = text->few;
	for (text->size = STATUS_FEW; text->bytes; text->bytes = system_map(text->size)) {
		length = 0;
		while ((n = kernel_call4(SYS_pread64, fd, (long)(text->bytes + length),
					 (long)(text->size - length - 1), (long)length)) > 0)
			length += (size_t)n;
		text->bytes[length] = '\0';
		if (n || length + 1 < text->size)
			return (int)n;
		text_buffer_free(text);
		text->size *= 16;
		if (text->size > STATUS_MAX)
			break;
	}
	text->bytes = NULL;
	return -ENOMEM;
}

/* Read the status of thread TID. At the process's end the parent removes its /proc entries. It spins while an own
 * thread, which has a lower priority, removes its own. So the calling thread's status is read by a path outside
 * these entries. */
static int status_read(pid_t tid, struct text *text)
{
	bool apart = tid == system_thread() && fd_ids_are_as_here();
	char path[48];
	int fd, err;

	snprintf(path, sizeof(path), apart ? "/proc/%d/status" : "/proc/self/task/%d/status", tid);
	fd = fd_raise(open(path, O_RDONLY | O_CLOEXEC));
	if (fd < 0)
		return fd;
	err = file_read_all(fd, text);
	close(fd);
	return err;
}

static void status_parse_ids(const char *text, uint32_t ids[IDS])
{
	char *end = (char *)(uintptr_t)text;

	for (int i = 0; i < IDS; i++)
		ids[i] = (uint32_t)strtoul(end, &end, 10);
}

static int status_parse_groups(const char *text, struct privileges *p)
{
	size_t most = strcspn(text, "\n") / 2 + 1; /* each takes at least a digit and a space */
	char *end = (char *)(uintptr_t)text;
	gid_t *groups = p->few;

	if (most > GROUPS_FEW) {
		p->mapped_bytes = most * sizeof(*groups);
		groups = p->mapped = system_map(p->mapped_bytes);
	}
	if (!groups)
		return -ENOMEM;
	while (end += strspn(end, " \t"), *end >= '0' && *end <= '9')
		groups[p->group_count++] = (gid_t)strtoul(end, &end, 10);
	return 0;
}

/* Return the text after "NAME:" in TEXT; NULL when NAME is missing. */
static const char *status_field(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (; text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
		if (!strncmp(text, name, length) && text[length] == ':')
			return text + length + 1;
	return NULL;
}

static int status_parse(const char *text, struct privileges *p)
{
	static const char cap_names[CAPS][8] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	const char *uids = status_field(text, "Uid"), *gids = status_field(text, "Gid");
	const char *groups = status_field(text, "Groups"), *value;

	if (!uids || !gids || !groups)
		return -EBADMSG;
	status_parse_ids(uids, p->uids);
	status_parse_ids(gids, p->gids);
	for (int i = 0; i < CAPS; i++) {
		value = status_field(text, cap_names[i]);
		p->caps[i] = value ? strtoull(value, NULL, 16) : 0; /* older kernels lack some */
	}
	value = status_field(text, "NoNewPrivs");
	p->no_new = value && strtol(value, NULL, 10);
	value = status_field(text, "State");
	p->gone = value && (value[1] == 'Z' || value[1] == 'X');
	return status_parse_groups(groups, p);
}

static int privileges_read(pid_t tid, struct privileges *p)
{
	struct text text;
	int err;

	text.bytes = NULL;
	memset(p, 0, sizeof(*p));
	err = status_read(tid, &text);
	if (!err)
		err = status_parse(text.bytes, p);
	text_buffer_free(&text);
	return err;
}

static bool privileges_have_uid(const struct privileges *p, uint32_t uid)
{
	return uid == p->uids[REAL] || uid == p->uids[EFFECTIVE] || uid == p->uids[SAVED] ||
	       uid == p->uids[OF_FILES];
}

static bool privileges_have_gid(const struct privileges *p, uint32_t gid)
{
	for (int i = 0; i < IDS; i++)
		if (gid == p->gids[i])
			return true;
	for (size_t i = 0; i < p->group_count; i++)
		if (gid == groups_of(p)[i])
			return true;
	return false;
}

/* True when a thread with credentials P has, or can regain, all that REQUIRED has. CAP_SETUID gives any user,
 * CAP_SETGID any group. */
static bool privileges_cover(const struct privileges *p, const struct privileges *required)
{
	bool sets_uids = p->caps[PERMITTED] & CAP_BIT(CAP_SETUID);
	bool sets_gids = p->caps[PERMITTED] & CAP_BIT(CAP_SETGID);

	if (p->no_new && !required->no_new)
		return false;
	/* The bounding set matters only to a thread that may change it. */
	if (required->caps[IN_FORCE] & CAP_BIT(CAP_SETPCAP) &&
	    required->caps[BOUNDING] & ~p->caps[BOUNDING])
		return false;
	for (int i = PERMITTED; i <= IN_FORCE; i++)
		if (required->caps[i] & ~p->caps[PERMITTED])
			return false;
	/* A program executed by the thread would get these. */
	if ((required->caps[INHERITABLE] | required->caps[AMBIENT]) &
	    ~(p->caps[INHERITABLE] | p->caps[PERMITTED]))
		return false;
	for (int i = 0; i < IDS; i++)
		if ((!sets_uids && !privileges_have_uid(p, required->uids[i])) ||
		    (!sets_gids && !privileges_have_gid(p, required->gids[i])))
			return false;
	for (size_t i = 0; i < required->group_count && !sets_gids; i++)
		if (!privileges_have_gid(p, groups_of(required)[i]))
			return false;
	return true;
}

bool privileges_is_checker(pid_t tid)
{
	for (size_t i = 0; i < CHECKERS_MAX; i++)
		if (atomic_load(&shared->privileges.checkers[i].tid) == tid)
			return true;
	return own_thread_has_id(tid);
}

uint32_t privileges_checker_count(void)
{
	uint32_t count = own_thread_count();

	for (size_t i = 0; i < CHECKERS_MAX; i++) {
		pid_t tid = atomic_load(&shared->privileges.checkers[i].tid);

		/* Some threads have ended. */
		count += tid && !own_thread_has_id(tid) && !system_thread_is_gone(tid);
	}
	return count;
}

static void caps_publish(uint64_t permitted)
{
	pid_t agent = atomic_load(&shared->agent.id);

	if (!agent || agent == system_thread())
		atomic_store(&shared->privileges.permitted, permitted);
}

/* The agent's main thread publishes credentials, or any own thread before that exists. */
static void holder_publish(pid_t tid)
{
	pid_t agent = atomic_load(&shared->agent.id);

	if (!agent || agent == system_thread())
		atomic_store(&shared->privileges.holder, tid);
}

/* True when thread TID of the program has all of OWN.
 *
 * The thread is published as the holder before its credentials are read. If it drops credentials later, it sees that
 * it is the holder and waits. If it dropped them earlier, this reads the reduced ones. *ALIVE, unless it is set, becomes
 * TID if the thread has not ended. */
static bool thread_covers(pid_t tid, const struct privileges *own, pid_t *alive)
{
	struct privileges p;
	bool is_there, is_covered;

	holder_publish(tid);
	is_there = !privileges_read(tid, &p) && !p.gone;
	is_covered = is_there && privileges_cover(&p, own);
	if (is_there && !*alive)
		*alive = tid;
	privileges_free(&p);
	return is_covered;
}

/* Format of getdents64(2), which no C library declares. */
struct entry {
	uint64_t inode;
	int64_t offset;
	unsigned short bytes;
	unsigned char type;
	char name[];
};

/* thread_covers() for the threads in the directory FD. No allocator is called: see struct text. */
static bool listed_thread_covers(int fd, const struct privileges *own, pid_t *alive)
{
	_Alignas(struct entry) char entries[1024];
	bool is_covered = false;
	long length;

	while (!is_covered &&
	       (length = kernel_call4(SYS_getdents64, fd, (long)entries, sizeof(entries), 0)) > 0)
		for (long at = 0; !is_covered && at < length;) {
			const struct entry *entry = (const void *)(entries + at);
			pid_t tid = (pid_t)strtol(entry->name, NULL, 10);

			is_covered = tid > 0 && !privileges_is_checker(tid) &&
				     thread_covers(tid, own, alive);
			at += entry->bytes;
		}
	return is_covered;
}

/* True when a thread of the program has all of OWN; that thread becomes the holder. Otherwise *ALIVE becomes the first
 * thread that has not ended; 0: none. */
static bool program_covers(const struct privileges *own, pid_t *alive)
{
	pid_t first = getpid(), holder = atomic_load(&shared->privileges.holder);
	pid_t ignored = holder; /* it may work for one of several users */
	bool is_covered = holder > 0 && !privileges_is_checker(holder) &&
			  thread_covers(holder, own, &ignored);
	int fd;

	/* A valid holder is never replaced, not even temporarily. */
	if (is_covered || thread_covers(first, own, alive))
		return true;
	fd = fd_raise(open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (fd < 0)
		return false;
	is_covered = listed_thread_covers(fd, own, alive);
	close(fd);
	if (!is_covered)
		holder_publish(*alive ? *alive : first);
	return is_covered;
}

static void caps_drop(const struct privileges *wanted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (kernel_call4(SYS_capget, (long)&header, (long)data, 0, 0))
		return;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(wanted->caps[PERMITTED] >> 32 * i);
		data[i].effective &= data[i].permitted;
		data[i].inheritable &=
			(uint32_t)((wanted->caps[INHERITABLE] | wanted->caps[PERMITTED]) >> 32 * i);
	}
	kernel_call4(SYS_capset, (long)&header, (long)data, 0, 0);
}

static void caps_drop_sets(const struct privileges *own, const struct privileges *wanted)
{
	uint64_t bounding = own->caps[BOUNDING] & ~wanted->caps[BOUNDING];
	uint64_t ambient = own->caps[AMBIENT] & ~wanted->caps[AMBIENT];

	if (wanted->no_new)
		kernel_call6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
	for (int cap = 0; cap < 64; cap++) {
		if (ambient >> cap & 1)
			kernel_call6(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_LOWER, cap, 0, 0, 0);
		if (bounding >> cap & 1)
			kernel_call6(SYS_prctl, PR_CAPBSET_DROP, cap, 0, 0, 0, 0);
	}
}

/* Change the credentials of the calling thread only. The caller checks the result. The right to change users is
 * dropped last. */
static void credentials_set(const struct privileges *own, const struct privileges *wanted)
{
	caps_drop_sets(own, wanted);
	kernel_call4(SYS_setgroups, (long)wanted->group_count, (long)groups_of(wanted), 0, 0);
	kernel_call4(SYS_setresgid, wanted->gids[REAL], wanted->gids[EFFECTIVE],
		     wanted->gids[SAVED], 0);
	kernel_call4(SYS_setfsgid, wanted->gids[OF_FILES], 0, 0, 0);
	kernel_call4(SYS_setresuid, wanted->uids[REAL], wanted->uids[EFFECTIVE],
		     wanted->uids[SAVED], 0);
	kernel_call4(SYS_setfsuid, wanted->uids[OF_FILES], 0, 0, 0);
	caps_drop(wanted);
}

/* True when the thread has nothing to drop or regain: no capabilities, and one user and group. */
static bool privileges_are_minimal(const struct privileges *p)
{
	for (int i = 1; i < IDS; i++)
		if (p->uids[i] != p->uids[REAL] || p->gids[i] != p->gids[REAL])
			return false;
	return p->uids[REAL] && !(p->caps[INHERITABLE] | p->caps[PERMITTED] | p->caps[AMBIENT]);
}

/* Ids of the main thread where there is no /proc, since Linux 6.13. Source: linux/pidfd.h. */
struct process_info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid;
	uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
	int32_t exit_code;
};

#define GET_INFO _IOWR(0xff, 11, struct process_info)
#define INFO_IDS (1u << 1)

static bool process_ids_read(struct process_info *info)
{
	long process, err;

	/* A filter may kill the process for this call. The new descriptor must not be visible among the program's. */
	if (own_fds_here() == OWN_FDS_PROGRAM ||
	    kernel_call6(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0))
		return false;
	process = kernel_call4(SYS_pidfd_open, getpid(), 0, 0, 0);
	if (process < 0)
		return false;
	*info = (struct process_info){ .mask = INFO_IDS };
	err = kernel_call4(SYS_ioctl, process, (long)GET_INFO, (long)info, 0);
	kernel_call4(SYS_close, process, 0, 0, 0);
	return !err && info->mask & INFO_IDS;
}

static bool ids_are_own(const uint32_t uids[IDS], const uint32_t gids[IDS])
{
	uint32_t u[OF_FILES], g[OF_FILES];

	return !kernel_call4(SYS_getresuid, (long)&u[REAL], (long)&u[EFFECTIVE], (long)&u[SAVED],
			     0) &&
	       !kernel_call4(SYS_getresgid, (long)&g[REAL], (long)&g[EFFECTIVE], (long)&g[SAVED],
			     0) &&
	       !memcmp(u, uids, sizeof(u)) && !memcmp(g, gids, sizeof(g));
}

static uint64_t caps_of(const struct __user_cap_data_struct data[2], bool inheritable)
{
	return inheritable ? data[0].inheritable | (uint64_t)data[1].inheritable << 32
			   : data[0].permitted | (uint64_t)data[1].permitted << 32;
}

/* Set the main thread's user and group ids, except its supplementary groups, which are not known. */
static int credentials_set_ids(const struct __user_cap_data_struct first[2])
{
	struct privileges own = { 0 }, wanted = { 0 };
	struct process_info info;

	if (!process_ids_read(&info))
		return 0; /* only capabilities are compared */
	wanted = (struct privileges){ .uids = { info.ruid, info.euid, info.suid, info.fsuid },
				      .gids = { info.rgid, info.egid, info.sgid, info.fsgid } };
	if (ids_are_own(wanted.uids, wanted.gids))
		return 0;
	wanted.caps[PERMITTED] = caps_of(first, false);
	wanted.caps[INHERITABLE] = caps_of(first, true);
	credentials_set(&own, &wanted);
	return ids_are_own(wanted.uids, wanted.gids) ? 0 : -EPERM;
}

/* Compare capabilities only, which capget(2) returns. For a process without a readable /proc: it is not mounted, the
 * program has forbidden reads, or its root directory was removed. */
static int privileges_check_caps(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct own[2], first[2];

	header.pid = getpid();
	if (kernel_call4(SYS_capget, (long)&header, (long)first, 0, 0) ||
	    credentials_set_ids(first))
		return -EPERM;
	header.pid = 0;
	if (kernel_call4(SYS_capget, (long)&header, (long)own, 0, 0))
		return -EPERM;
	for (int i = 0; i < 2; i++)
		if (own[i].permitted & ~first[i].permitted)
			return -EPERM;
	caps_publish(caps_of(own, false));
	holder_publish(getpid());
	return 0;
}

static bool is_in_other_mounts(void)
{
	char own[64] = "", main[64] = "";

	return system_read_link("/proc/thread-self/ns/mnt", own, sizeof(own) - 1) <= 0 ||
	       system_read_link("/proc/self/ns/mnt", main, sizeof(main) - 1) <= 0 ||
	       strcmp(own, main) != 0;
}

/* An attached agent has its own root directory (attach/tracing/payload.h). An attacker of a program that has changed its
 * root must not get out by the agent's threads. They share theirs, so one of them changes it for all. Another mount
 * namespace is not followed: its root is no smaller one. */
static void root_follow(void)
{
	struct stat own, theirs;
	int fd_own = system_open("/", O_PATH | O_CLOEXEC, 0),
	    fd = system_open("/proc/self/root", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);

	if (fd_own >= 0 && fd >= 0 && !system_stat(fd_own, &own) && !system_stat(fd, &theirs) &&
	    (own.st_dev != theirs.st_dev || own.st_ino != theirs.st_ino) && !is_in_other_mounts() &&
	    !kernel_call4(SYS_fchdir, fd, 0, 0, 0))
		kernel_call4(SYS_chroot, (long)".", 0, 0, 0);
	if (fd_own >= 0)
		system_close(fd_own);
	if (fd >= 0)
		system_close(fd);
}

static int privileges_check(void)
{
	struct privileges own, theirs = { 0 };
	pid_t alive = 0;
	int err;

	if (shared->is_attached)
		root_follow();
	err = privileges_read(system_thread(), &own);
	if (err) {
		err = err == -ENOENT || err == -EACCES || err == -ESRCH ? privileges_check_caps()
									: err;
		goto out;
	}
	caps_publish(own.caps[PERMITTED]);
	self.has_nothing_to_drop = privileges_are_minimal(&own);
	if (self.has_nothing_to_drop)
		holder_publish(NO_HOLDER_NEEDED);
	if (self.has_nothing_to_drop || program_covers(&own, &alive))
		goto out;
	/* When no thread is left, the kernel keeps the credentials of the first one. */
	if (privileges_read(alive ? alive : getpid(), &theirs)) {
		err = privileges_check_caps(); /* the program has just lost access to /proc */
		goto out;
	}
	if (privileges_cover(&theirs, &own))
		goto out;
	credentials_set(&own, &theirs);
	self.has_dropped = true;
	atomic_fetch_add(&shared->privileges.changes, 1); /* so that others check as well */
	privileges_free(&own);
	err = privileges_read(system_thread(), &own);
	if (!err && !privileges_cover(&theirs, &own))
		err = -EPERM;
	caps_publish(own.caps[PERMITTED]);
out:
	privileges_free(&own);
	privileges_free(&theirs);
	return err;
}

/* Claim a free entry, or one whose thread has ended. There are more entries than threads. privileges_are_followed()
 * ignores a thread without an entry. */
static void looker_register(void)
{
	static _Atomic uint32_t none;

	self.followed = &none;
	for (size_t i = 0; i < CHECKERS_MAX; i++) {
		pid_t tid = atomic_load(&shared->privileges.checkers[i].tid);

		if ((!tid || system_thread_is_gone(tid)) &&
		    atomic_compare_exchange_strong(&shared->privileges.checkers[i].tid, &tid,
						   system_thread())) {
			self.followed = &shared->privileges.checkers[i].followed;
			return;
		}
	}
}

int privileges_follow(bool at_once)
{
	uint32_t change = atomic_load(&shared->privileges.changes);
	uint64_t now = clock_monotonic_ns();
	int saved = errno;

	if (self.followed && change == self.changes &&
	    (self.has_nothing_to_drop || (!at_once && now < self.due_ns)))
		return self.err;
	if (!self.followed)
		looker_register();
	if (!self.has_nothing_to_drop)
		self.err = privileges_check();
	self.changes = change;
	atomic_store(self.followed, change);
	self.due_ns =
		self.has_nothing_to_drop || self.is_woken ? UINT64_MAX : now + PRIVILEGES_CHECK_NS;
	errno = saved;
	return self.err;
}

uint64_t privileges_due_ns(void)
{
	return self.due_ns;
}

void privileges_set_woken(bool is_woken)
{
	self.is_woken = is_woken;
}

bool privileges_were_dropped(void)
{
	bool did = self.has_dropped;

	self.has_dropped = false;
	return did;
}

uint32_t privileges_changed(void)
{
	return atomic_fetch_add(&shared->privileges.changes, 1) + 1;
}

bool privileges_are_followed(uint32_t change)
{
	bool is_dropped = atomic_load(&shared->privileges.changes) != change;

	for (size_t i = 0; i < CHECKERS_MAX && is_dropped; i++) {
		pid_t tid = atomic_load(&shared->privileges.checkers[i].tid);
		uint32_t followed = atomic_load(&shared->privileges.checkers[i].followed);

		if (tid && (int32_t)(followed - change) < 0 && !system_thread_is_gone(tid))
			return false;
	}
	return true;
}

bool privileges_are_lost(uint64_t regaining_caps, bool in_every_thread)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	static __thread pid_t
		covered_by; /* the holder when this thread had already lost something */
	pid_t holder = atomic_load(&shared->privileges.holder);

	if (holder == NO_HOLDER_NEEDED)
		return false;
	if (holder)
		regaining_caps |= atomic_load(&shared->privileges.permitted);
	kernel_call4(SYS_capget, (long)&header, (long)data, 0, 0);
	if (holder && !(regaining_caps & ~caps_of(data, false)))
		return false;
	if (!holder || in_every_thread)
		return true;
	if (covered_by != holder && (holder == system_thread() || system_thread_is_gone(holder)))
		return true;
	covered_by = holder;
	return false;
}

void privileges_restart(void)
{
	atomic_store(&shared->privileges.holder, 0);
}

void privileges_forget(void)
{
	privileges_restart();
	for (size_t i = 0; i < CHECKERS_MAX; i++)
		atomic_store(&shared->privileges.checkers[i].tid, 0);
}
