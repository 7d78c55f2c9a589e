/* The stack protector's canary of aarch64. glibc has this variable in its dynamic linker. musl does not, so a
 * library that imports it from there does not load under musl.
 *
 * The canary must not change while a function is on a stack. So it is set before any code of the preload runs, and
 * is not secret. It contains the bytes that end strings. */
#include <stdint.h>

extern const uintptr_t __stack_chk_guard;
const uintptr_t __stack_chk_guard = 0x00ff0a0d5aa500ff;
