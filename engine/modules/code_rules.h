/* Unwind rules for aarch64 code without unwind information, such as musl's. They are derived from
 * the effect of each instruction on the stack pointer and on the registers that an unwinder needs.
 * (x86-64 code is not that simple to decode: see function_starts.h.) */
#ifndef ENGINE_MODULES_CODE_RULES_H
#define ENGINE_MODULES_CODE_RULES_H

#include <stddef.h>
#include <stdint.h>

/* Set the bits in STARTS where the COUNT instructions of CODE call functions within CODE. STARTS
 * has one bit per instruction, set where a function begins. */
void code_rules_mark_called(uint8_t *starts, const uint32_t *code, size_t count);

/* Write the rule of each instruction to RULES, which the caller fills with RULE_INDEX_NONE. Each
 * function is followed from its first instruction. Code without a known predecessor is taken for a
 * case of a switch if such a jump precedes it, else for the start of a function. Further function
 * starts that are found are set in STARTS. */
void code_rules_find(uint16_t *rules, const uint32_t *code, size_t count, uint8_t *starts);

#endif
