/* Two fortified functions of glibc that the distribution's libiberty calls. Other C libraries lack
 * them; the linker finds these definitions first. */
#include <stdarg.h>
#include <stdio.h>

int __sprintf_chk(char *out, int flag, size_t size, const char *format, ...);
int __snprintf_chk(char *out, size_t max, int flag, size_t size, const char *format, ...);

int __sprintf_chk(char *out, int flag, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	(void)flag;
	va_start(args, format);
	length = vsnprintf(out, size, format, args);
	va_end(args);
	return length;
}

int __snprintf_chk(char *out, size_t max, int flag, size_t size, const char *format, ...)
{
	va_list args;
	int length;

	(void)flag;
	va_start(args, format);
	length = vsnprintf(out, max < size ? max : size, format, args);
	va_end(args);
	return length;
}
