/* How a thread's last wait for descriptors ended. */
#include "engine/sample/ready_wait.h"

__thread uint8_t ready_wait_end;
