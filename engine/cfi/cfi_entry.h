/* The entries of .eh_frame. Async-signal-safe. */
#ifndef ENGINE_CFI_CFI_ENTRY_H
#define ENGINE_CFI_CFI_ENTRY_H

#include "engine/cfi/cfi_run.h"

/* Begin the entry at OFFSET: narrow C to its content behind the id, which goes to *ID together
 * with the offset of the id itself. False at the terminator or where nothing sensible is. */
bool entry_begin(const struct cfi_source *source, uint64_t offset, struct cursor *c, uint64_t *id,
		 uint64_t *id_offset);

/* Read the common entry (CIE) at OFFSET, with RUN as room to work in; whether it is sound stands
 * in CIE. */
void cie_read(struct cie *cie, const struct cfi_source *source, uint64_t offset, struct run *run);

/* An entry for some code (FDE): where it goes on behind the offset of its CIE. */
struct fde {
	struct cursor c;
	uint64_t cie_offset;
};

/* False when there is none at OFFSET. */
bool fde_read(struct fde *fde, const struct cfi_source *source, uint64_t offset);

/* Entries so close have padding between them, where the rule of the first goes on: it is not worth
 * a row, as nobody is interrupted there. */
#define CFI_PADDING_MAX 64

struct place {
	uint64_t start, size; /* code, as link addresses */
};

/* Set RUN to the instructions of FDE, whose CIE is given, and PLACE to what they are about. */
bool fde_begin(const struct fde *fde, const struct cie *cie, const struct cfi_source *source,
	       struct run *run, struct place *place);

#endif
