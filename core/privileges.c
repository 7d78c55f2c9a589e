/* What the agent's threads may do: never more than the program. */
#include "core/privileges.h"

#include <dirent.h>
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

/* A process may be in 65,536 groups, which are named here. */
#define STATUS_FEW 4096u
#define STATUS_MAX (1u << 20)

enum id { REAL, EFFECTIVE, SAVED, OF_FILES, IDS };

/* As /proc has them. */
enum caps { INHERITABLE, PERMITTED, IN_FORCE, BOUNDING, AMBIENT, CAPS };

struct privileges {
	uint32_t uids[IDS], gids[IDS];
	gid_t *groups; /* of take_room() */
	size_t groups_bytes, group_count;
	uint64_t caps[CAPS];
	bool no_new;
	bool gone; /* the thread has ended, and is only still listed */
};

static __thread struct {
	bool looks;                  /* and stands among the lookers */
	bool privileges_are_minimal; /* there is nothing to look for */
	int err;                     /* what the last look said */
	uint32_t print;              /* of what the thread had then; 0: not known */
	bool has_dropped;
	uint32_t changes;
	_Atomic uint32_t *followed; /* where others see CHANGES; NULL: nowhere */
	uint64_t due_ns;
} mine;

/* Who could go by another thread's look waits so much longer for it. */
#define WAIT_FOR_LOOK_NS (PRIVILEGES_CHECK_NS / 10)

/* For looks in a program that has used up its memory: it would not be profiled any more. */
#define SPARES 4
static struct {
	atomic_bool taken;
	char bytes[STATUS_FEW];
} spare_count[SPARES];

/* BYTES of zeroed memory, or NULL. */
static void *take_room(size_t bytes)
{
	void *room = system_map(bytes);

	for (size_t i = 0; i < SPARES && !room && bytes <= STATUS_FEW; i++)
		if (!atomic_exchange(&spare_count[i].taken, true))
			room = memset(spare_count[i].bytes, 0, STATUS_FEW);
	return room;
}

static void free_room(void *room, size_t bytes)
{
	for (size_t i = 0; i < SPARES; i++)
		if (room == spare_count[i].bytes) {
			atomic_store(&spare_count[i].taken, false);
			return;
		}
	system_unmap(room, bytes);
}

static void privileges_free(struct privileges *p)
{
	if (p->groups)
		free_room(p->groups, p->groups_bytes);
	p->groups = NULL;
}

/* What a file holds. No allocator is asked, as one of the program's may be locked by a thread that waits for
 * the caller: async-profiler writes in handlers of samples, in a fork too. */
struct text {
	char *bytes; /* ends with a 0 */
	size_t room;
};

static void text_buffer_free(struct text *text)
{
	if (text->bytes)
		free_room(text->bytes, text->room);
	text->bytes = NULL;
}

static int file_read_all(int fd, struct text *text)
{
	size_t length;
	long n;

	for (text->room = STATUS_FEW; text->room <= STATUS_MAX; text->room *= 16) {
		text->bytes = take_room(text->room);
		if (!text->bytes)
			return -ENOMEM;
		length = 0;
		while ((n = kernel_call4(SYS_pread64, fd, (long)(text->bytes + length),
					 (long)(text->room - length - 1), (long)length)) > 0)
			length += (size_t)n;
		if (!n && length + 1 < text->room)
			return 0;
		text_buffer_free(text);
		if (n)
			return (int)n;
	}
	return -ENOMEM;
}

/* What lies below this process in /proc is taken away by its parent, which spins while a thread of ours, that
 * is a nice one, takes away what is its own: so that is looked for elsewhere, where no list has it. */
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
	size_t length = strcspn(text, "\n");
	char *end = (char *)(uintptr_t)text;

	/* Each takes a digit and a space at least. */
	p->groups_bytes = (length / 2 + 1) * sizeof(*p->groups);
	p->groups = take_room(p->groups_bytes);
	if (!p->groups)
		return -ENOMEM;
	while (end += strspn(end, " \t"), *end >= '0' && *end <= '9')
		p->groups[p->group_count++] = (gid_t)strtoul(end, &end, 10);
	return 0;
}

/* What is said behind NAME in TEXT; NULL when nothing is. */
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
		p->caps[i] = value ? strtoull(value, NULL, 16) : 0; /* some are newer */
	}
	value = status_field(text, "NoNewPrivs");
	p->no_new = value && strtol(value, NULL, 10);
	value = status_field(text, "State");
	p->gone = value && (value[1] == 'Z' || value[1] == 'X');
	return status_parse_groups(groups, p);
}

static int privileges_read(pid_t tid, struct privileges *p)
{
	struct text text = { 0 };
	int err = status_read(tid, &text);

	memset(p, 0, sizeof(*p));
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
		if (gid == p->groups[i])
			return true;
	return false;
}

/* Whether HE has, or can take back, all that SHE has. */
static bool privileges_cover(const struct privileges *he, const struct privileges *required)
{
	if (he->no_new && !required->no_new)
		return false;
	/* Who may not change it has no use for it either. */
	if (required->caps[IN_FORCE] >> CAP_SETPCAP & 1 &&
	    required->caps[BOUNDING] & ~he->caps[BOUNDING])
		return false;
	for (int i = PERMITTED; i <= IN_FORCE; i++)
		if (required->caps[i] & ~he->caps[PERMITTED])
			return false;
	/* Of no use by themselves, but another program that one executes would have them. */
	if ((required->caps[INHERITABLE] | required->caps[AMBIENT]) &
	    ~(he->caps[INHERITABLE] | he->caps[PERMITTED]))
		return false;
	for (int i = 0; i < IDS; i++)
		if (!privileges_have_uid(he, required->uids[i]) ||
		    !privileges_have_gid(he, required->gids[i]))
			return false;
	for (size_t i = 0; i < required->group_count; i++)
		if (!privileges_have_gid(he, required->groups[i]))
			return false;
	return true;
}

bool privileges_is_checker(pid_t tid)
{
	for (size_t i = 0; i < CHECKERS_MAX; i++)
		if (atomic_load(&shared->privileges.checkers[i]) == tid)
			return true;
	return own_thread_has_id(tid);
}

uint32_t privileges_checker_count(void)
{
	uint32_t count = own_thread_count();

	for (size_t i = 0; i < CHECKERS_MAX; i++) {
		pid_t tid = atomic_load(&shared->privileges.checkers[i]);

		/* (Some have ended.) */
		count += tid && !own_thread_has_id(tid) && !system_thread_is_gone(tid);
	}
	return count;
}

/* Whether thread TID of the program has all that OWN says. In *HERS, where that is NULL still, what
 * it has: one to go by. */
static bool thread_covers(pid_t tid, const struct privileges *own, struct privileges *hers,
			  bool *known)
{
	struct privileges p;
	bool does = !privileges_read(tid, &p) && !p.gone && privileges_cover(&p, own);

	if (p.groups && !p.gone && !*known) {
		*hers = p;
		*known = true;
	} else {
		privileges_free(&p);
	}
	return does;
}

/* Whether some thread of the program has all that OWN says; else *HERS is what the first of them has,
 * if *KNOWN. */
static bool program_covers(const struct privileges *own, struct privileges *hers, bool *known)
{
	pid_t first = getpid(), last_holder = atomic_load(&shared->privileges.holder);
	struct dirent *entry;
	bool does = thread_covers(first, own, hers, known);
	DIR *dir = NULL;
	int fd = -1;

	if (!does && last_holder)
		does = !privileges_is_checker(last_holder) &&
		       thread_covers(last_holder, own, hers, known);
	if (!does)
		fd = fd_raise(open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (fd >= 0)
		dir = fdopendir(fd);
	if (fd >= 0 && !dir)
		close(fd);
	while (!does && dir && (entry = readdir(dir))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid <= 0 || tid == first || privileges_is_checker(tid))
			continue;
		does = thread_covers(tid, own, hers, known);
		if (does)
			atomic_store(&shared->privileges.holder, tid);
	}
	/* There is none: what the first of them had, which the kernel keeps as long as the process is there. */
	if (dir && !does && !*known && !privileges_read(first, hers)) {
		*known = true;
		does = privileges_cover(hers, own);
	}
	if (dir)
		closedir(dir);
	return does;
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

/* Of the calling thread alone; what fails is seen afterwards. The right to change users goes last. */
static void take_on(const struct privileges *own, const struct privileges *wanted)
{
	caps_drop_sets(own, wanted);
	kernel_call4(SYS_setgroups, (long)wanted->group_count, (long)wanted->groups, 0, 0);
	kernel_call4(SYS_setresgid, wanted->gids[REAL], wanted->gids[EFFECTIVE],
		     wanted->gids[SAVED], 0);
	kernel_call4(SYS_setfsgid, wanted->gids[OF_FILES], 0, 0, 0);
	kernel_call4(SYS_setresuid, wanted->uids[REAL], wanted->uids[EFFECTIVE],
		     wanted->uids[SAVED], 0);
	kernel_call4(SYS_setfsuid, wanted->uids[OF_FILES], 0, 0, 0);
	caps_drop(wanted);
}

/* Nothing to give up, and nothing to take: users and groups are those of every thread. */
static bool privileges_are_minimal(const struct privileges *p)
{
	for (int i = 1; i < IDS; i++)
		if (p->uids[i] != p->uids[REAL] || p->gids[i] != p->gids[REAL])
			return false;
	return p->uids[REAL] && !(p->caps[INHERITABLE] | p->caps[PERMITTED] | p->caps[AMBIENT]);
}

/* What the main thread is told to be where there is no /proc, from Linux 6.13 on. Source: linux/pidfd.h. */
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

	/* A filter may end the process at such a call, and the number must not come between the program's. */
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

/* Be what the main thread is, but for the other groups that it is in: those are not told. */
static int credentials_set_ids(const struct __user_cap_data_struct first[2])
{
	struct privileges own = { 0 }, wanted = { 0 };
	struct process_info info;

	if (!process_ids_read(&info))
		return 0; /* its capabilities must do */
	wanted = (struct privileges){ .uids = { info.ruid, info.euid, info.suid, info.fsuid },
				      .gids = { info.rgid, info.egid, info.sgid, info.fsgid } };
	if (ids_are_own(wanted.uids, wanted.gids))
		return 0;
	wanted.caps[PERMITTED] = caps_of(first, false);
	wanted.caps[INHERITABLE] = caps_of(first, true);
	take_on(&own, &wanted);
	return ids_are_own(wanted.uids, wanted.gids) ? 0 : -EPERM;
}

/* Where there is no /proc, or the program has seen to it that nothing there can be read: capabilities can be asked
 * for. */
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
	return 0;
}

static uint32_t add_print(uint32_t print, const void *data, size_t bytes)
{
	const uint8_t *at = data;

	while (bytes--)
		print = (print ^ *at++) * 0x01000193u; /* FNV-1a */
	return print;
}

/* Of all that is compared. */
static uint32_t code_fingerprint(const struct privileges *p)
{
	uint32_t print = 0x811c9dc5u;

	print = add_print(print, p->uids, sizeof(p->uids));
	print = add_print(print, p->gids, sizeof(p->gids));
	print = add_print(print, p->groups, p->group_count * sizeof(*p->groups));
	print = add_print(print, p->caps, sizeof(p->caps));
	print = add_print(print, &p->no_new, sizeof(p->no_new));
	return print ? print : 1;
}

static int privileges_check(void)
{
	struct privileges own = { 0 }, hers = { 0 };
	bool known = false;
	int err = privileges_read(system_thread(), &own);

	mine.print = 0;
	if (err) {
		err = err == -ENOENT || err == -EACCES ? privileges_check_caps() : err;
		goto out;
	}
	mine.privileges_are_minimal = privileges_are_minimal(&own);
	if (mine.privileges_are_minimal || program_covers(&own, &hers, &known))
		goto out;
	if (!known) {
		err = -ESRCH;
		goto out;
	}
	take_on(&own, &hers);
	mine.has_dropped = true;
	atomic_fetch_add(&shared->privileges.changes, 1); /* so others look as well */
	privileges_free(&own);
	err = privileges_read(system_thread(), &own);
	if (!err && !privileges_cover(&hers, &own))
		err = -EPERM;
out:
	if (!err && own.groups)
		mine.print = code_fingerprint(&own);
	privileges_free(&own);
	privileges_free(&hers);
	return err;
}

/* The C library changes users in one thread after the other, and one of ours that async-profiler needs may be before the
 * one that has asked for it: then it has for a moment what no thread of the program has. */
#define SETTLE_TRIES 200
#define SETTLE_NS    1000000u

static int look_settled(void)
{
	int err = privileges_check();

	for (int i = 0; err == -EPERM && i < SETTLE_TRIES; i++) {
		system_sleep(SETTLE_NS);
		err = privileges_check();
	}
	return err;
}

static void become_looker(void)
{
	pid_t none = 0;

	if (mine.looks)
		return;
	mine.looks = true;
	for (size_t i = 0; i < CHECKERS_MAX; i++, none = 0)
		if (atomic_compare_exchange_strong(&shared->privileges.checkers[i], &none,
						   system_thread()))
			return;
	/* Threads of ours that have ended stand there: the oldest of them goes. */
	for (size_t i = 1; i < CHECKERS_MAX; i++)
		atomic_store(&shared->privileges.checkers[i - 1],
			     atomic_load(&shared->privileges.checkers[i]));
	atomic_store(&shared->privileges.checkers[CHECKERS_MAX - 1], system_thread());
}

static uint32_t ms_of(uint64_t ns)
{
	return (uint32_t)(ns / 1000000u);
}

/* The look that began at NOW has found that the program has what this thread has. */
static void tell_look(uint64_t now)
{
	if (!mine.err && mine.print)
		atomic_store(&shared->privileges.looked, (uint64_t)mine.print << 32 | ms_of(now));
}

/* When another thread has found that lately, of what this one has too; 0: none has. */
static uint64_t looked_by_another(uint64_t now)
{
	uint64_t looked = atomic_load(&shared->privileges.looked);
	uint32_t ago_ms = ms_of(now) - (uint32_t)looked;

	if (mine.err || !mine.print || looked >> 32 != mine.print ||
	    ago_ms >= ms_of(PRIVILEGES_CHECK_NS))
		return 0;
	return now - ago_ms * UINT64_C(1000000);
}

int privileges_follow(bool at_once)
{
	uint32_t change = atomic_load(&shared->privileges.changes);
	uint64_t now = clock_monotonic_ns(), looked;
	int saved = errno;

	if (!at_once && now < mine.due_ns && change == mine.changes)
		return mine.err;
	looked = at_once || change != mine.changes ? 0 : looked_by_another(now);
	if (looked) {
		mine.due_ns = looked + PRIVILEGES_CHECK_NS + WAIT_FOR_LOOK_NS;
		return 0;
	}
	become_looker();
	if (!mine.privileges_are_minimal)
		mine.err = look_settled();
	if (!mine.privileges_are_minimal)
		tell_look(now);
	mine.changes = change;
	if (mine.followed)
		atomic_store(mine.followed, change);
	mine.due_ns = mine.privileges_are_minimal ? UINT64_MAX : now + PRIVILEGES_CHECK_NS;
	errno = saved;
	return mine.err;
}

int privileges_follow_others(void)
{
	if (!mine.looks || atomic_load(&shared->privileges.changes) != mine.changes)
		return privileges_follow(true);
	if (!mine.privileges_are_minimal)
		mine.due_ns = clock_monotonic_ns() + PRIVILEGES_CHECK_NS;
	return mine.err;
}

uint64_t privileges_due_ns(void)
{
	return mine.due_ns;
}

uint32_t privileges_changes(void)
{
	return atomic_load(&shared->privileges.changes);
}

void privileges_set_woken(_Atomic uint32_t *followed)
{
	mine.followed = followed;
}

bool privileges_gave_up(void)
{
	bool did = mine.has_dropped;

	mine.has_dropped = false;
	return did;
}

void privileges_changed(void)
{
	atomic_fetch_add(&shared->privileges.changes, 1);
}

void privileges_forget(void)
{
	atomic_store(&shared->privileges.holder, 0);
	atomic_store(&shared->privileges.looked, 0);
	for (size_t i = 0; i < CHECKERS_MAX; i++)
		atomic_store(&shared->privileges.checkers[i], 0);
}
