/* A library that lock_waits.c loads, and that calls pthread_mutex_lock(3). */
#include <dlfcn.h>
#include <pthread.h>

int plugin_lock(pthread_mutex_t *mutex)
{
	int err = pthread_mutex_lock(mutex);

	__asm__ volatile("");
	return err;
}

/* The loader finds the calling module by the return address: other modules do not find symbols of this one. */
int plugin_finds_own(void)
{
	void *found = dlsym(RTLD_DEFAULT, "plugin_finds_own");

	__asm__ volatile("");
	return found != NULL;
}
