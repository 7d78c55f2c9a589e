/* Labels of goroutines: pprof.Do() and pprof.SetGoroutineLabels() of the package runtime/pprof set them, and new goroutines
 * inherit them. x86-64 only: elsewhere Go has the goroutine in a register. */
#ifndef ENGINE_RUNTIME_GO_GO_LABELS_H
#define ENGINE_RUNTIME_GO_GO_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/elf/elf.h"
#include "engine/modules/modules.h"

/* Where a thread finds the labels of its goroutine. Offsets in bytes. */
struct go_labels_layout {
	intptr_t current; /* of the thread's current g, from the thread pointer */
	uint16_t machine; /* g.m */
	uint16_t user;    /* m.curg: the goroutine, also while the thread runs on another stack */
	uint16_t labels;  /* g.labels */
	bool is_map;      /* labels are a map[string]string; otherwise a slice of pairs */
};

/* Find the layout for the Go program MODULE, whose image in memory is IMAGE. Returns 0, -ENOENT if MODULE is no Go program,
 * -ENOTSUP if the version of Go is not known, or -errno. Agent thread. */
int go_labels_find(struct go_labels_layout *layout, struct elf *image, const struct module *module);

/* From now on, threads read their labels by LAYOUT. Only the first call has an effect: a process has one Go runtime. The
 * agent's thread. */
void go_labels_use(const struct go_labels_layout *layout);

/* Write the labels of the calling thread's goroutine to OUT, at most MAX bytes of whole labels, each "key", NUL, "value",
 * NUL. If OUT is NULL, nothing is written. Returns the number of bytes; 0 if there are none, or they cannot be read.
 * Async-signal-safe. */
size_t go_labels_copy(char *out, size_t max);

/* True if go_labels_copy() has found labels at least once. Any thread. */
bool go_labels_exist(void);

#endif
