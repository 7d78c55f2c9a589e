/* An allocator that ends the process when it is called while the loader's lock is held. Others,
 * such as tcmalloc, may then wait for ever: they walk a stack under their own lock, which another
 * thread holds that waits for the loader's. Preloaded before all other libraries. */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void __libc_free(void *p);

static __thread int depth __attribute__((tls_model("initial-exec")));

static void look(void)
{
	static const char said[] = "allocates under the loader's lock\n";

	if (!depth)
		return;
	if (write(STDERR_FILENO, said, sizeof(said) - 1) < 0)
		_exit(3);
	_exit(2);
}

int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
{
	int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	int result;

	next = (__typeof__(next))dlsym(RTLD_NEXT, "dl_iterate_phdr");
	depth++;
	result = next(callback, data);
	depth--;
	return result;
}

void *malloc(size_t size)
{
	look();
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	look();
	return __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
	look();
	return __libc_realloc(p, size);
}

void free(void *p)
{
	look();
	__libc_free(p);
}
