/* How threads of the image end where a program would: the program is not ours to end. */
#ifndef IMAGE_ENDING_H
#define IMAGE_ENDING_H

/* Have TELL called, once, by the first thread that calls abort(), before that thread ends. What is
 * locked then stays locked, and what waits for the thread waits for ever: the agent as a whole has
 * ended, and TELL is to say so where the program's side looks. It must not allocate, lock, or use
 * the C library's streams. */
void image_on_abort(void (*tell)(void));

/* End the calling thread, and no other: to the C library one of them is the main thread, whose end is that of
 * the process. */
_Noreturn void image_end_thread(void);

#endif
