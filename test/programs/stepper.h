/* Walks the stack from every instruction that a program executes. A program that is linked with
 * stepper.c chooses the part; when it ends, one line on stdout for each instruction has the number
 * of failed walks from it, if any, and the last line has their total.
 *
 * Walks first use the tables of the loaded modules; with STEPPER_TABLES=off in the environment, a
 * handler's own lookup. */
#ifndef TEST_PROGRAMS_STEPPER_H
#define TEST_PROGRAMS_STEPPER_H

#ifdef __cplusplus
extern "C" {
#endif

/* From here on each instruction of this thread, and of threads that it creates, raises SIGTRAP,
 * whose handler walks the stack as a sampling handler does. The walk must reach the outermost frame
 * of a stack. On this thread's own stack, it must also pass the frames that are above the caller's
 * now. */
void step_on(void);

/* Stop that in this thread. Its frames may change from now on. */
void step_off(void);

/* A signal handler starts without stepping; this starts it there. Or continue without expected
 * frames. */
void step_again(void);

#ifdef __cplusplus
}
#endif

#endif
