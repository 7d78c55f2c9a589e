/* Check whether the dynamic linker would load the preload into a program. It reads the program's file and does not run
 * the program. `run` and `doctor` explain missing profiles with it. */
#ifndef DECODER_DOCTOR_PRELOADABLE_H
#define DECODER_DOCTOR_PRELOADABLE_H

#include <limits.h>
#include <stdbool.h>

enum preloadable_obstacle {
	PRELOADABLE, /* no obstacle */
	PRELOADABLE_NOT_FOUND,
	PRELOADABLE_UNREADABLE, /* it cannot be read, so it cannot be checked */
	PRELOADABLE_NO_PROGRAM, /* neither ELF nor a script */
	PRELOADABLE_MACHINE,    /* for another processor, or 32-bit */
	PRELOADABLE_STATIC,
	PRELOADABLE_PRIVILEGED, /* set-user-ID or similar: the linker ignores LD_PRELOAD */
	PRELOADABLE_LINKER,     /* its dynamic linker is missing */
	PRELOADABLE_LIBC,       /* an unsupported C library */
	PRELOADABLE_SANITIZER,
	PRELOADABLE_OBSTACLES,
};

struct preloadable {
	enum preloadable_obstacle obstacle;
	char file[PATH_MAX];   /* executed by the kernel: for a script its interpreter */
	char linker[PATH_MAX]; /* as the program names it; "": none */
	bool is_go;            /* written in Go */
	const char *name;      /* of the sanitizer or C library; NULL: neither */
};

/* Find NAME as execvp(3) does, and store its path in PATH. Returns 0 or -errno. */
int preloadable_find_program(const char *name, char path[PATH_MAX]);

/* Check PROGRAM, a path. For a script this checks its interpreter, or the program that env(1) starts. */
void preloadable_check(struct preloadable *out, const char *program);

/* Get the reason for missing profiles, like "it is statically linked, so ...", and the remedy, a sentence. Both are ""
 * without an obstacle. */
#define PRELOADABLE_REASON_MAX (PATH_MAX + 256)
void preloadable_reason(const struct preloadable *p, char line[PRELOADABLE_REASON_MAX]);
const char *preloadable_remedy(const struct preloadable *p);

#endif
