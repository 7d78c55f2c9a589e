/* Parser of .eh_frame entries. Async-signal-safe. */
#ifndef ENGINE_CFI_CFI_ENTRY_H
#define ENGINE_CFI_CFI_ENTRY_H

#include "engine/cfi/cfi_run.h"

/* Open the entry at OFFSET: set C to its content after the id, *ID to the id, and *ID_OFFSET to the
 * offset of the id. Returns false at the terminator and for an invalid entry. */
bool entry_begin(const struct cfi_source *source, uint64_t offset, struct cursor *c, uint64_t *id,
		 uint64_t *id_offset);

/* Read the common information entry (CIE) at OFFSET, with RUN as work space. CIE->valid is false
 * for an invalid entry. */
void cie_read(struct cie *cie, const struct cfi_source *source, uint64_t offset, struct run *run);

/* Frame description entry (FDE), at the fields after the offset of its CIE. */
struct fde {
	struct cursor c;
	uint64_t cie_offset;
};

/* Returns false when there is no FDE at OFFSET. */
bool fde_read(struct fde *fde, const struct cfi_source *source, uint64_t offset);

/* Entries that are so close have only padding between them, where the rule of the first entry
 * continues. A separate row is not worth it: no thread is interrupted in padding. */
#define CFI_PADDING_MAX 64

struct place {
	uint64_t start, size; /* code range, as link addresses */
};

/* Set RUN to the instructions of FDE, which belongs to CIE, and PLACE to its code range. */
bool fde_begin(const struct fde *fde, const struct cie *cie, const struct cfi_source *source,
	       struct run *run, struct place *place);

#endif
