/* Notes of the sampling signal handler about interrupted system calls. */
#include "preload/interpose/sample_note.h"

__thread unsigned long program_handled;
__thread struct sample_note sample_note;
