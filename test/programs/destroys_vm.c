/* Creates a Java VM, destroys it, and continues until the file LOG, its own stderr, has text.
 *
 *   destroys_vm LOG */
#include <jni.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* For so many milliseconds. */
static double burn(int ms)
{
	clock_t end = clock() + (clock_t)ms * (CLOCKS_PER_SEC / 1000);
	volatile double x = 1;

	while (clock() < end)
		for (int i = 0; i < 1000; i++)
			x = x * 1.000001 + i;
	return x;
}

int main(int argc, char **argv)
{
	JavaVMInitArgs arguments = { .version = JNI_VERSION_1_8 };
	struct stat log;
	JavaVM *vm;
	void *env;

	if (argc != 2 || JNI_CreateJavaVM(&vm, &env, &arguments))
		return 1;
	burn(2000);
	(*vm)->DestroyJavaVM(vm);
	for (int i = 0; i < 600 && !stat(argv[1], &log) && !log.st_size; i++)
		usleep(100000);
	puts("done");
	return 0;
}
