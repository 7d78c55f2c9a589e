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

/* ---- For a program that runs already ---- */

/* REGISTERS are those of the stopped thread. If the kernel has ended its system call with EINTR because of that, it will make
 * the call again, unless a handler of the program runs first: then the result is EINTR, as always. */
void remote_continue_call(struct remote_registers *registers);

/* Continue at an interrupted system call without the kernel, also at one that it would make again. */
void remote_restart_call(struct remote_registers *registers);

/* True if the thread was stopped in a system call. Then end the call: it returns REMOTE_CALL_ENDED. */
#define REMOTE_CALL_ENDED (-512)
bool remote_end_call(struct remote_registers *registers);

/* Code for stopped_call() in a page of the program. After the call it restores the thread from a signal frame, in case that
 * the tracer has ended. */
#define REMOTE_CODE_BYTES 32
extern const unsigned char remote_code[REMOTE_CODE_BYTES];

/* Offset and maximum size of the signal frame in that page and the next ones. */
#define REMOTE_FRAME_OFFSET 64
#define REMOTE_FRAME_MAX    (16384 - REMOTE_FRAME_OFFSET)

/* Write to FRAME the signal frame that restores REGISTERS, MASK, and the other registers of the stopped thread TID. The frame
 * will be at ADDRESS. Returns its size or -errno. */
long remote_write_frame(unsigned char frame[REMOTE_FRAME_MAX], uintptr_t address, pid_t tid,
			const struct remote_registers *registers, uint64_t mask);

/* Set REGISTERS for the code, with the frame at FRAME. If the call is clone(2), the new thread continues at ENTRY; 0: it is
 * another call. */
void remote_set_code(struct remote_registers *registers, uintptr_t frame, uintptr_t entry);

/* ---- For a program at its beginning ---- */

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
