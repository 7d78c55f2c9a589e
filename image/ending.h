/* End of the image's threads. The image must not end the process, which is the program's. */
#ifndef IMAGE_ENDING_H
#define IMAGE_ENDING_H

/* Register HANDLER for abort(). The first thread that calls abort() calls it once, then ends.
 *
 * Locks of that thread stay locked, and threads that wait for it wait for ever. So the agent as a whole has
 * ended, and HANDLER must report that to the host's side. It must not allocate, lock, or use the C library's
 * streams. */
void image_on_abort(void (*handler)(void));

/* End the calling thread only. (The C library ends the process when its main thread ends.) */
_Noreturn void image_end_thread(void);

#endif
