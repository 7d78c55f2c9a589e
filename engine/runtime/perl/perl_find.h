/* Finds Perl in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_PERL_FIND_H
#define ENGINE_RUNTIME_PERL_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/perl/perl.h"

/* Fill in *PERL, all zero before, where MODULE, of which the image is open, has Perl in a version that is
 * known. Returns 0, -ENOENT where there is none, -ENOTSUP where it is another version, or -errno. */
int perl_find(struct perl *perl, struct elf *image, const struct module *module);

#endif
