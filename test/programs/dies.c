/* Dies of a signal, in the way of the first argument, with the number of the second; or a child
 * dies of it, and the program prints how. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/programs/check.h"

static void on_signal(int signo)
{
	(void)signo;
}

/* Ways in which a handler sends its own signal again, with the default action set. */
static const char *again;

static void on_signal_again(int signo)
{
	if (!strcmp(again, "default"))
		signal(signo, SIG_DFL);
	if (!strcmp(again, "kill"))
		kill(getpid(), signo);
	else if (!strcmp(again, "tgkill"))
		syscall(SYS_tgkill, getpid(), gettid(), signo);
	else if (!strcmp(again, "pthread_kill"))
		pthread_kill(pthread_self(), signo);
	else if (!strcmp(again, "sigqueue"))
		sigqueue(getpid(), signo, (union sigval){ .sival_int = 1 });
	else
		raise(signo);
}

/* Its signals are its own. */
static void reset_in_vfork_child(int signo)
{
	if (!vfork()) {
		signal(signo, SIG_DFL);
		_exit(0);
	}
	wait(NULL);
}

/* HOW is "again-" and one of them. */
static void handle_again(const char *how, int signo)
{
	struct sigaction action = { .sa_handler = on_signal_again, .sa_flags = SA_RESETHAND };

	again = how + strlen("again-");
	if (!strcmp(again, "default"))
		action.sa_flags = 0;
	if (!strcmp(again, "sysv"))
		CHECK(sysv_signal(signo, on_signal_again) != SIG_ERR);
	else
		CHECK(!sigaction(signo, &action, NULL));
	if (!strcmp(again, "vfork"))
		reset_in_vfork_child(signo);
	raise(signo);
}

static void *raise_it(void *signo)
{
	raise(*(int *)signo);
	return NULL;
}

static int in_child(pid_t child, int signo)
{
	int status;

	if (!child) {
		raise(signo);
		_exit(1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	printf("child died of %d\n", WTERMSIG(status));
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[1] : "";
	int signo = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t thread;

	/* A shell's background jobs ignore some signals. */
	signal(signo, SIG_DFL);
	if (!strcmp(how, "raise"))
		raise(signo);
	if (!strcmp(how, "kill"))
		kill(getpid(), signo);
	if (!strcmp(how, "thread")) {
		CHECK(!pthread_create(&thread, NULL, raise_it, &signo));
		pthread_join(thread, NULL);
	}
	if (!strcmp(how, "reset")) {
		signal(signo, on_signal);
		raise(signo);
		signal(signo, SIG_DFL);
		raise(signo);
	}
	if (!strncmp(how, "again-", strlen("again-")))
		handle_again(how, signo);
	if (!strcmp(how, "ignore")) {
		signal(signo, SIG_IGN);
		raise(signo);
		return 0;
	}
	if (!strcmp(how, "fork"))
		return in_child(fork(), signo);
	if (!strcmp(how, "vfork"))
		return in_child(vfork(), signo);
	return 9;
}
