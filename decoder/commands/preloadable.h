/* Would the dynamic linker load the preload into a program? Told from the program's file, without
 * running it: what `run` and `doctor` say of a program of which no profiles can come. */
#ifndef DECODER_COMMANDS_PRELOADABLE_H
#define DECODER_COMMANDS_PRELOADABLE_H

#include <limits.h>
#include <stdbool.h>

enum preloadable_obstacle {
	PRELOADABLE, /* nothing stands in the way */
	PRELOADABLE_NOT_FOUND,
	PRELOADABLE_UNREADABLE, /* it cannot be read, so nothing is known of it */
	PRELOADABLE_NO_PROGRAM, /* neither ELF nor a script */
	PRELOADABLE_MACHINE,    /* for another processor, or of 32 bits */
	PRELOADABLE_STATIC,
	PRELOADABLE_PRIVILEGED, /* set-user-ID or the like: the linker ignores LD_PRELOAD */
	PRELOADABLE_LINKER,     /* its dynamic linker is not there */
	PRELOADABLE_LIBC,       /* a C library that the preload does not work with */
	PRELOADABLE_SANITIZER,
	PRELOADABLE_OBSTACLES,
};

struct preloadable {
	enum preloadable_obstacle obstacle;
	char file[PATH_MAX];   /* what the kernel executes: of a script, its interpreter */
	char linker[PATH_MAX]; /* as the program names it; "" where it names none */
	bool script, go;
	const char *what; /* which sanitizer or C library that is; NULL where it is neither */
};

/* Find NAME as execvp(3) would and put its path into PATH. Returns 0 or -errno. */
int preloadable_find_program(const char *name, char path[PATH_MAX]);

/* Look at PROGRAM, a path, below the directory ROOT ("" for this process's own root; a container's
 * is /proc/PID/root). What the kernel follows is followed: a script's first line, and env(1) in it. */
void preloadable_check(struct preloadable *out, const char *root, const char *program);

/* Why no profiles come, as "it is statically linked, so ...", and what mends it, as a sentence. Both
 * "" where nothing stands in the way. LINE has room for any. */
#define PRELOADABLE_REASON_MAX (PATH_MAX + 256)
void preloadable_reason(const struct preloadable *p, char line[PRELOADABLE_REASON_MAX]);
const char *preloadable_remedy(const struct preloadable *p);

#endif
