/* What a recording says of the machine: its kernel, its processors, and how busy they are. Agent
 * thread only. */
#ifndef ENGINE_PROCESS_HOST_INFO_H
#define ENGINE_PROCESS_HOST_INFO_H

#include <stddef.h>
#include <stdint.h>

struct host_cpu {
	char model[128];                  /* "unknown" where the kernel does not say */
	uint32_t sockets, cores, threads; /* of the whole machine; at least 1 */
};

void host_os_version(char *version, size_t size);
void host_cpu_read(struct host_cpu *cpu);

/* Shares of all processors since the call before, 0 to 1: of this process in user mode and in
 * the kernel, and of the whole machine. */
struct host_load {
	float user, system, machine;
};

/* Returns 0, or -EAGAIN on the first call, and less than 10 ms after the last. */
int host_load_read(struct host_load *load);

#endif
