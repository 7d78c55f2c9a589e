/* Writer of Firefox Profiler's processed profile: the tables that its threads share, and numbers. */
#ifndef PROFILE_EXPORT_FIREFOX_TABLES_H
#define PROFILE_EXPORT_FIREFOX_TABLES_H

#include "profile/export/export.h"

struct firefox {
	FILE *file;
	const struct timed_store *store;
	struct intern functions; /* struct function_key */
	struct intern modules;   /* IDs in the profile's names */
	struct intern sources;   /* IDs in the profile's names */
	struct intern nodes;     /* struct node_key */
	uint32_t *leaves;        /* ID in nodes by stack; 0: no stack */
	uint32_t string_count;   /* of the profile's names */
	bool out_of_memory;
};

/* Write the member "shared", with a comma after it, and fill LEAVES. */
void firefox_write_shared(struct firefox *f);
void firefox_free_tables(struct firefox *f);

static inline const struct profile *firefox_profile(const struct firefox *f)
{
	return &f->store->profile;
}

#endif
