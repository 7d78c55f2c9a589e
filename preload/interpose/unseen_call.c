/* Continues system calls that no interposer sees. */
#include "preload/interpose/unseen_call.h"

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "arch/code.h"
#include "engine/reading/memory_reader.h"
#include "preload/interpose/real.h"
#include "preload/interpose/restart.h"
#include "preload/interpose/transfer.h"
#include "preload/interpose/wait_limit.h"

#define ARGUMENTS 5

/* The call in our code: the thread needs these values when it returns. */
__thread struct {
	uintptr_t pc;                   /* after the call; 0: there is no call */
	uintptr_t arguments[ARGUMENTS]; /* as the program passed them */
	uintptr_t sp;
	long number;
	bool is_socket; /* END is that of a socket's timeout */
	struct wait_limit limit;
	int64_t end; /* of the limit, by its clock */
	union wait_left left;
	bool is_left; /* the handler is between leave and resume */
} unseen_call __attribute__((visibility("hidden"), tls_model("initial-exec")));

extern const char unseen_call_code[] __attribute__((visibility("hidden")));
extern const char unseen_call_code_end[] __attribute__((visibility("hidden")));

__asm__(".pushsection .text\n"
	"	.balign 16\n"
	"	.globl unseen_call_code, unseen_call_code_end\n"
	"	.hidden unseen_call_code, unseen_call_code_end\n"
	"	.type unseen_call_code, @function\n"
	"unseen_call_code:\n" ARCH_UNSEEN_CALL("unseen_call") "unseen_call_code_end:\n"
							      "	.size unseen_call_code, . - "
							      "unseen_call_code\n"
							      "	.popsection\n");

#define SET(place, value) ((place) = (__typeof__(place))(value))

static void call_get(const ucontext_t *context, long number, long call[TRANSFER_LONGS])
{
	call[0] = number;
	arch_call_arguments(context, (uintptr_t *)call + 1);
}

static void arguments_set(ucontext_t *context, const long arguments[ARGUMENTS])
{
	SET(CONTEXT_ARGUMENT1(context), arguments[0]);
	SET(CONTEXT_ARGUMENT2(context), arguments[1]);
	SET(CONTEXT_ARGUMENT3(context), arguments[2]);
	SET(CONTEXT_ARGUMENT4(context), arguments[3]);
	SET(CONTEXT_ARGUMENT5(context), arguments[4]);
}

static bool is_in_code(const ucontext_t *context)
{
	uintptr_t start = (uintptr_t)unseen_call_code;

	return (uintptr_t)CONTEXT_PC(context) - start < (uintptr_t)unseen_call_code_end - start;
}

void unseen_call_leave(ucontext_t *context)
{
	if (__builtin_expect(!is_in_code(context), 1))
		return;
	if (!unseen_call.pc) { /* it returns: all but the address is restored */
		SET(CONTEXT_PC(context), CONTEXT_SCRATCH(context));
		return;
	}
	if ((uintptr_t)CONTEXT_PC(context) == (uintptr_t)unseen_call_code) {
		SET(CONTEXT_PC(context), unseen_call.pc - ARCH_SYSTEM_CALL_BYTES);
		SET(CONTEXT_NUMBER(context), unseen_call.number);
	} else {
		SET(CONTEXT_PC(context), unseen_call.pc);
	}
	arguments_set(context, (const long *)unseen_call.arguments);
	unseen_call.is_left = true;
}

void unseen_call_end(ucontext_t *context)
{
	unseen_call_leave(context);
	if (unseen_call.is_left)
		unseen_call.pc = 0;
	unseen_call.is_left = false;
}

/* ---- Time limits ---- */

/* Change the limit of CALL to lead to COPY. PLACE has the time. False if it cannot be read. */
static bool copy_limit(const struct wait_limit *limit, long *call, long place,
		       union wait_left *copy)
{
	uintptr_t time;

	call[limit->at] = (long)copy;
	if (limit->kind == LIMIT_TIMEVAL_LEFT)
		return memory_copy(&copy->val, (uintptr_t)place, sizeof(copy->val));
	if (limit->kind != LIMIT_RING)
		return memory_copy(&copy->spec, (uintptr_t)place, sizeof(copy->spec));
	if (!memory_copy(&copy->ring.wait, (uintptr_t)place, sizeof(copy->ring.wait)))
		return false;
	time = (uintptr_t)copy->ring.wait.time;
	copy->ring.wait.time = time ? (uintptr_t)&copy->ring.time : 0;
	return !time || memory_copy(&copy->ring.time, time, sizeof(copy->ring.time));
}

/* Get the remaining time of CALL; -1 without a limit, or if the kernel writes it to the program's memory. False if it is not
 * known. */
static bool remaining_ns(const struct wait_limit *limit, long *call, int64_t *ns)
{
	int rest = wait_limit_rest(call);
	long place = call[rest ? rest : limit->at];
	union wait_left copy;

	*ns = -1;
	if (limit->kind == LIMIT_NONE)
		return true;
	if (limit->kind >= LIMIT_TIMESPEC_LEFT && place && wait_limit_can_be_written(place))
		return true;
	if (limit->kind != LIMIT_MILLISECONDS && place && !copy_limit(limit, call, place, &copy))
		return false;
	*ns = wait_limit_ns(limit, call);
	return true;
}

/* Note the time limit of the call. False if the call cannot be continued. */
static bool note_limit(const ucontext_t *context, long number)
{
	long call[TRANSFER_LONGS];
	struct wait_limit limit;
	bool is_socket;
	int64_t ns;

	call_get(context, number, call);
	limit = wait_limit_of(call);
	/* musl has an absolute time, and after EINTR computes the remaining one. */
	if (number == SYS_futex && limit.kind != LIMIT_NONE && call[limit.at] &&
	    !gnu_get_libc_version)
		return false;
	ns = transfer_timeout_ns(call);
	is_socket = ns >= 0;
	if (!is_socket && !remaining_ns(&limit, call, &ns))
		return false;
	if (ns < 0)
		return true;
	/* A handler of the program that the agent does not know has interrupted another such call, or has left it. */
	if (unseen_call.pc)
		return false;
	unseen_call.pc = (uintptr_t)CONTEXT_PC(context);
	unseen_call.sp = (uintptr_t)CONTEXT_SP(context);
	unseen_call.number = number;
	unseen_call.is_socket = is_socket;
	unseen_call.limit = limit;
	unseen_call.end = wait_limit_now(limit.clock) + ns;
	unseen_call.is_left = true;
	return true;
}

static bool is_interposed(uintptr_t sp)
{
	return interposed_frame && interposed_frame - sp < SAMPLE_NEAR;
}

/* If fallocate(2) is interrupted again and again, it makes no progress. */
static bool is_repeatable(long number)
{
	return wait_includes(number) && number != SYS_bpf && number != SYS_fallocate;
}

bool unseen_call_continue(ucontext_t *context)
{
	long number;

	if (!ARCH_ARGUMENT_REMAINS || (long)CONTEXT_RESULT(context) != -EINTR ||
	    is_interposed((uintptr_t)CONTEXT_SP(context)))
		return false;
	if (unseen_call.is_left) {
		number = unseen_call.number;
	} else {
		number = arch_call_has_just_ended(context) ? arch_call_number(context, memory_copy)
							   : -1;
		if (!is_repeatable(number) || !note_limit(context, number))
			return false;
	}
	SET(CONTEXT_NUMBER(context), number);
	SET(CONTEXT_PC(context), CONTEXT_PC(context) - ARCH_SYSTEM_CALL_BYTES);
	return true;
}

/* The timeout of a socket is not an argument: the kernel begins it again. */
static bool socket_timeout_is_over(int64_t ns)
{
	return unseen_call.is_socket && ns <= 0;
}

static void end_by_timeout(ucontext_t *context)
{
	SET(CONTEXT_RESULT(context), unseen_call.number == SYS_connect ? -EINPROGRESS : -EAGAIN);
	SET(CONTEXT_PC(context), unseen_call.pc);
	unseen_call.pc = 0;
}

void unseen_call_resume(ucontext_t *context)
{
	long call[TRANSFER_LONGS];
	int64_t ns;

	if (__builtin_expect(!unseen_call.is_left, 1))
		return;
	unseen_call.is_left = false;
	if ((uintptr_t)CONTEXT_PC(context) != unseen_call.pc - ARCH_SYSTEM_CALL_BYTES ||
	    (uintptr_t)CONTEXT_SP(context) != unseen_call.sp ||
	    (long)CONTEXT_NUMBER(context) != unseen_call.number) {
		unseen_call.pc = 0;
		return;
	}
	ns = unseen_call.end - wait_limit_now(unseen_call.limit.clock);
	if (socket_timeout_is_over(ns)) {
		end_by_timeout(context);
		return;
	}
	call_get(context, unseen_call.number, call);
	for (int i = 0; i < ARGUMENTS; i++)
		unseen_call.arguments[i] = (uintptr_t)call[i + 1];
	wait_limit_put(&unseen_call.limit, call, &unseen_call.left, ns);
	arguments_set(context, call + 1);
	SET(CONTEXT_PC(context), unseen_call_code);
}
