/* Opens the files of modules and their debug files.
 *
 * A module's file may be deleted, and any user may then create another one at its path if a directory of the path, as
 * /tmp, is open to all. Such a file may have the same build-id, wrong names, and a size that keeps the agent busy for
 * hours. */
#ifndef ENGINE_ELF_MODULE_FILE_H
#define ENGINE_ELF_MODULE_FILE_H

#include "engine/elf/elf.h"

/* Open the regular file PATH for reading. Returns a high descriptor, or -errno: -EPERM if another user than root or this
 * one owns it, and any user may have created it. */
int module_file_open(const char *path);

/* Same as an ELF file: like elf_open(). */
int module_file_open_elf(struct elf **out, const char *path);

#endif
