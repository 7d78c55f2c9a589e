/* Search for Perl in this process. Agent thread only. */
#ifndef ENGINE_RUNTIME_PERL_FIND_H
#define ENGINE_RUNTIME_PERL_FIND_H

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"
#include "engine/runtime/perl/perl.h"

/* Fill in *PERL, which is zeroed, if MODULE has Perl in a known version. IMAGE is the open image of
 * MODULE. Returns 0, -ENOENT if there is none, -ENOTSUP if the version is unknown, or -errno. */
int perl_find(struct perl *perl, struct elf *image, const struct module *module);

#endif
