/* Signals that widely used libraries take without a check. */
#include "engine/sample/library_signals.h"

#include <signal.h>

#include "core/start_environment.h"

/* SIGRTMAX - 2: the JDK interrupts blocking socket and file calls with it. libnet.so and libnio.so
 * install its handler when they are loaded. (SIGRTMAX itself is a call into the C library.) */
#define JDK_WAKEUP 62

/* The JVM suspends threads with SIGUSR2, or with the signal whose decimal number this variable
 * holds. */
#define JVM_SUSPEND_VARIABLE "_JAVA_SR_SIGNUM"

/* The number at the beginning of TEXT, as strtol() reads it; 0 if there is none. */
static int leading_number(const char *text)
{
	int number = 0;

	while (*text == ' ' || (*text >= '\t' && *text <= '\r'))
		text++;
	text += *text == '+';
	while (*text >= '0' && *text <= '9' && number < 1000)
		number = number * 10 + (*text++ - '0');
	return number;
}

bool signal_is_of_library(int signo)
{
	const char *suspend = start_environment_get(JVM_SUSPEND_VARIABLE);

	return signo == JDK_WAKEUP || signo == SIGUSR2 ||
	       (suspend && signo == leading_number(suspend));
}
