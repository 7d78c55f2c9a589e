/* Rules for aarch64 code that brings none, as musl's, from what its instructions do to the stack pointer and to the
 * registers that a walk wants. (x86-64's instructions cannot be told apart so simply: function_starts.h.) */
#ifndef ENGINE_MODULES_CODE_RULES_H
#define ENGINE_MODULES_CODE_RULES_H

#include <stddef.h>
#include <stdint.h>

/* Functions of the COUNT instructions at CODE begin where STARTS has a bit, one for each instruction, and where
 * CODE itself calls: those bits are set. */
void code_rules_mark_called(uint8_t *starts, const uint32_t *code, size_t count);

/* Put a rule for each of them into RULES, which is all RULE_INDEX_NONE. The way through a function is followed from
 * where it begins; what nothing is seen to lead to, is taken for one of a switch's cases where such a jump
 * comes before it, else for the beginning of a function. A beginning that is found besides is put into STARTS. */
void code_rules_find(uint16_t *rules, const uint32_t *code, size_t count, uint8_t *starts);

#endif
