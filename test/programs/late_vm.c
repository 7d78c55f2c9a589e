/* A library to preload: JNI_GetCreatedJavaVMs() finds the Java VM only half a second after it was first called, as if the
 * VM's creation took that long (JDK 21 and later). */
#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include "test/programs/next_dlsym.h"

typedef int find_vms(void **vms, int max, int *count);

#define LATE_NS 500000000

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int JNI_GetCreatedJavaVMs(void **vms, int max, int *count)
{
	static long long first_ns;
	void *vm = dlopen("libjvm.so", RTLD_LAZY | RTLD_NOLOAD);
	find_vms *find = vm ? (find_vms *)next_dlsym()(vm, "JNI_GetCreatedJavaVMs") : NULL;

	if (!first_ns)
		first_ns = now_ns();
	*count = 0;
	return find && now_ns() - first_ns >= LATE_NS ? find(vms, max, count) : 0;
}

void *late_dlsym(void *handle, const char *name) __asm__("dlsym");

void *late_dlsym(void *handle, const char *name)
{
	return strcmp(name, "JNI_GetCreatedJavaVMs") == 0 ? (void *)JNI_GetCreatedJavaVMs
							  : next_dlsym()(handle, name);
}
