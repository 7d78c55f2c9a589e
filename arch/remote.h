/* Registers of a stopped thread of another process, for a tracer without a C library. */
#ifndef ARCH_REMOTE_H
#define ARCH_REMOTE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* General registers, in the kernel's layout. */
struct remote_registers {
	unsigned long words[34];
};

/* True if programs of this processor can be traced by the functions below. */
bool remote_is_supported(void);

/* Get or set the registers of the stopped thread TID. Return 0 or -errno. */
int remote_get(pid_t tid, struct remote_registers *registers);
int remote_set(pid_t tid, const struct remote_registers *registers);

/* Set REGISTERS so that the thread makes the system call NUMBER by the instruction at PC. The kernel restarts no earlier
 * call. */
void remote_set_call(struct remote_registers *registers, uintptr_t pc, long number,
		     const long arguments[6]);

/* Set the two arguments of attach_begin() for the new thread that remote_set_call() makes with SYS_clone. */
void remote_set_entry(struct remote_registers *registers, uintptr_t initial_stack,
		      uintptr_t channel);

/* Distance from attach_entry() to attach_hold(). */
#define REMOTE_HOLD_OFFSET 16

/* Set REGISTERS, those of a program at its first instruction, so that its thread first runs attach_hold() at PC. It waits
 * until the word RELEASED is not 0, sets the signal MASK (an address), and begins the program. */
void remote_set_hold(struct remote_registers *registers, uintptr_t pc, uintptr_t released,
		     uintptr_t mask);

uintptr_t remote_pc(const struct remote_registers *registers);
uintptr_t remote_sp(const struct remote_registers *registers);

/* Result of the system call that has returned: -errno for an error. */
long remote_result(const struct remote_registers *registers);

#endif
