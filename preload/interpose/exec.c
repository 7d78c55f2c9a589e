/* Interposes the exec functions. The last report is delivered before the process becomes another program. No
 * sampling signal may be pending, which would end that program. */
#include "preload/interpose/exec.h"

#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "preload/interpose/altstack.h"
#include "preload/interpose/hooks.h"
#include "preload/interpose/real.h"

void exec_failed(bool was_armed)
{
	const struct interpose_hooks *hooks = hooks_get();
	int saved = errno;

	altstack_exec_failed();
	if (was_armed && hooks)
		hooks->exec_failed();
	errno = saved;
}

bool exec_begin(void)
{
	bool armed = exit_is_armed();

	exit_notify(EXITING_AT_ONCE);
	altstack_before_exec();
	return armed;
}

#define EXEC(name, parameters, arguments)      \
	EXPORT int name parameters             \
	{                                      \
		bool was_armed = exec_begin(); \
                                               \
		REAL(name) arguments;          \
		exec_failed(was_armed);        \
		return -1;                     \
	}

EXEC(execve, (const char *path, char *const *argv, char *const *envp), (path, argv, envp))
EXEC(execv, (const char *path, char *const *argv), (path, argv))
EXEC(execvp, (const char *file, char *const *argv), (file, argv))
EXEC(execvpe, (const char *file, char *const *argv, char *const *envp), (file, argv, envp))
EXEC(fexecve, (int fd, char *const *argv, char *const *envp), (fd, argv, envp))
EXEC(execveat, (int dir, const char *path, char *const *argv, char *const *envp, int flags),
     (dir, path, argv, envp, flags))

/* Count the arguments after the first one, including the NULL. */
static size_t count_arguments(va_list list)
{
	size_t count = 1;

	while (va_arg(list, char *))
		count++;
	return count;
}

/* Copy the arguments to an array on the stack: these functions may be called where the heap cannot be used. */
#define COLLECT(argv, first, list)                               \
	do {                                                     \
		size_t count_, at_ = 0;                          \
		va_list again_;                                  \
                                                                 \
		va_copy(again_, list);                           \
		count_ = count_arguments(again_);                \
		va_end(again_);                                  \
		(argv) = alloca((count_ + 1) * sizeof(*(argv))); \
		(argv)[at_++] = (char *)(uintptr_t)(first);      \
		while (at_ <= count_)                            \
			(argv)[at_++] = va_arg(list, char *);    \
	} while (0)

EXPORT int execl(const char *path, const char *first, ...)
{
	va_list list;
	char **argv;

	va_start(list, first);
	COLLECT(argv, first, list);
	va_end(list);
	return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	va_list list;
	char **argv;

	va_start(list, first);
	COLLECT(argv, first, list);
	va_end(list);
	return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	char *const *environment;
	va_list list;
	char **argv;

	va_start(list, first);
	COLLECT(argv, first, list);
	environment = va_arg(list, char *const *);
	va_end(list);
	return execve(path, argv, environment);
}
