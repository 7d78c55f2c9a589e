/* The GNU build-id among ELF notes. */
#include "engine/elf/build_id.h"

#include <elf.h>
#include <string.h>

static size_t padded_size(uint32_t size)
{
	return ((size_t)size + 3) & ~(size_t)3;
}

/* A note is a header, a name and a description. The name and the description are padded to four
 * bytes; the padding after the last note may be missing. */
size_t build_id_find(const uint8_t *notes, size_t size, size_t max, size_t *offset)
{
	size_t name, description, at = 0;
	Elf64_Nhdr note;

	while (size - at >= sizeof(note)) {
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		name = padded_size(note.n_namesz);
		description = padded_size(note.n_descsz);
		if (name > size - at || note.n_descsz > size - at - name)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) && note.n_descsz &&
		    note.n_descsz <= max) {
			*offset = at + name;
			return note.n_descsz;
		}
		if (description > size - at - name)
			return 0;
		at += name + description;
	}
	return 0;
}
