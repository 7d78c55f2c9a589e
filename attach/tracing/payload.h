/* The file of the attached host's side, and its segments in a stopped program.
 *
 * The launcher uses this too: it needs no C library. */
#ifndef ATTACH_TRACING_PAYLOAD_H
#define ATTACH_TRACING_PAYLOAD_H

#include <elf.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/tracing/stopped.h"

#define PAYLOAD_SEGMENTS_MAX 8

/* Stack of the thread that starts the agent. Parsing of settings takes a few kilobytes. */
#define PAYLOAD_STACK_BYTES (64ul << 10)

/* That thread. (It needs no undo list of System V semaphores, which the program might not have. With CLONE_FS, no interposer
 * would end the agent when a program with one thread enters a mount namespace, which the kernel then forbids.) */
#define PAYLOAD_THREAD_FLAGS (CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)

struct payload {
	const char *path;
	Elf64_Phdr segments[PAYLOAD_SEGMENTS_MAX];
	size_t count;
	uintptr_t entry, bytes; /* address of the entry and of the end, relative to the start */
};

/* Read the headers of the file PATH, which must exist longer than PAYLOAD. Returns 0 or -errno. */
int payload_open(struct payload *payload, const char *path);

/* Bytes of the segments, a page without access, and the stack, in this order. */
size_t payload_mapped_bytes(const struct payload *payload);

/* Map the file into THREAD's program, which has one thread, and set *BASE (0: nothing is mapped). Returns false on failure. */
bool payload_map(const struct stopped *thread, const struct payload *payload, uintptr_t *base);

/* Protection of SEGMENT, as of mmap(2). */
int payload_protection(const Elf64_Phdr *segment);

#endif
