/* Search for Ruby in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_RUBY_FIND_H
#define ENGINE_RUNTIME_RUBY_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/ruby/ruby.h"

/* Fill in *RUBY, which is zeroed, if MODULE has a Ruby of a known version. IMAGE is the open image
 * of MODULE. Returns 0, -ENOENT if there is none, -ENOTSUP if the version is unknown, or -errno. */
int ruby_find(struct ruby *ruby, struct elf *image, const struct module *module);

/* Search for facts that are available only while Ruby runs; some calls skip the search. Returns
 * true if *RUBY has more facts now. */
bool ruby_find_more(struct ruby *ruby);

/* Whether such facts are expected soon. Without them, classes and C functions have no names. */
bool ruby_is_beginning(const struct ruby *ruby);

/* ---- Parts of the search ---- */

/* Find the evaluator and its core in the code of IMAGE, which is loaded at BIAS, if no symbol names them. */
void ruby_find_evaluator(struct ruby *ruby, struct elf *image, uintptr_t bias);

/* Find the table of names by number in the BYTES of variables at DATA. Returns true if it was found. */
bool ruby_find_names(struct ruby *ruby, uintptr_t data, uint64_t bytes);

/* Find the counter of garbage collections. Returns true if it was found. */
bool ruby_find_collections(struct ruby *ruby);

#endif
