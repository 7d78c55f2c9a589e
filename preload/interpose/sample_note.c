/* What a sample leaves, of each thread. */
#include "preload/interpose/sample_note.h"

__thread unsigned long program_handled;
__thread uintptr_t sample_interrupted;
__thread int sample_errno;
