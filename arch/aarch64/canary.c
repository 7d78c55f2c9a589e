/* What functions of aarch64 compare with at their end, to see that nothing has run over the stack. glibc has it in its
 * dynamic linker, which musl has not: a library that asks for it there does not load under musl. Ours is in
 * place before any code of ours runs, as it could not be changed while a function of ours is on some stack; so it is
 * no secret, but has the bytes that texts end with. */
#if defined(__aarch64__)

#include <stdint.h>

extern const uintptr_t __stack_chk_guard;
const uintptr_t __stack_chk_guard = 0x00ff0a0d5aa500ff;

#else
typedef int canary_unused;
#endif
