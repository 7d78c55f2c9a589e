/* Walks the stack from every instruction that a program executes. A program that is linked with
 * stepper.c says where; when it ends, one line on stdout tells for each instruction how many walks
 * from it went wrong, if any, and the last line how many there were.
 *
 * Walks go by the tables of what is loaded at first; with STEPPER_TABLES=off in the environment, by
 * what a handler looks up itself. */
#ifndef TEST_PROGRAMS_STEPPER_H
#define TEST_PROGRAMS_STEPPER_H

#ifdef __cplusplus
extern "C" {
#endif

/* From here on each instruction of this thread, and of those that it creates, raises SIGTRAP, whose
 * handler walks the stack as a sampling handler does. The walk must come to the outermost frame of
 * a stack; on this thread's own also through those that are above the caller's now. */
void step_on(void);

/* No more, in this thread. Its frames may change from now on. */
void step_off(void);

/* A signal handler starts without stepping; this has it stepped too. Or on with no frames
 * expected. */
void step_again(void);

#ifdef __cplusplus
}
#endif

#endif
