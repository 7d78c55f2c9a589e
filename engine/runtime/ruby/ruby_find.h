/* Finds Ruby in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_RUBY_FIND_H
#define ENGINE_RUNTIME_RUBY_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/ruby/ruby.h"

/* Fill in *RUBY, all zero before, where MODULE, of which the image is open, has a Ruby of a version that is
 * known. Returns 0, -ENOENT where there is none, -ENOTSUP where it is another version, or -errno. */
int ruby_find(struct ruby *ruby, struct elf *image, const struct module *module);

/* Look for what it has only once it runs, in some of the calls. True when *RUBY has more now. */
bool ruby_find_more(struct ruby *ruby);

/* Whether there will probably be more soon, without which classes and functions of C have no names. */
bool ruby_is_beginning(const struct ruby *ruby);

/* ---- Its parts ---- */

/* Find the evaluator where no symbol tells, and its core, in the code of IMAGE, loaded at BIAS. */
void ruby_find_evaluator(struct ruby *ruby, struct elf *image, uintptr_t bias);

/* Find the names that have numbers, in the variables of the module: BYTES at DATA. True when it has. */
bool ruby_find_names(struct ruby *ruby, uintptr_t data, uint64_t bytes);

/* Find where it counts collections. True when it has. */
bool ruby_find_collections(struct ruby *ruby);

#endif
