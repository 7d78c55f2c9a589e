/* Facts about the machine for a recording: kernel, processors and load. Agent thread only. */
#ifndef ENGINE_PROCESS_HOST_INFO_H
#define ENGINE_PROCESS_HOST_INFO_H

#include <stddef.h>
#include <stdint.h>

struct host_cpu {
	char model[128];                  /* "unknown" if the kernel does not report it */
	uint32_t sockets, cores, threads; /* of the whole machine; at least 1 */
};

void host_os_version(char *version, size_t size);
void host_cpu_read(struct host_cpu *cpu);

/* Shares of all processors since the previous call, 0 to 1: this process in user mode, this process
 * in the kernel, and the whole machine. */
struct host_load {
	float user, system, machine;
};

/* Returns 0, or -EAGAIN on the first call and within 10 ms of the previous call. */
int host_load_read(struct host_load *load);

#endif
