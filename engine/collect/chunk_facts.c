/* Events of a chunk that are not samples. */
#include "engine/collect/chunk_facts.h"

#include <stddef.h>

#include "engine/modules/modules.h"
#include "engine/process/host_info.h"

void chunk_modules(struct jfr_writer *jfr, uint64_t ticks)
{
	const struct module *const *list;
	size_t count = modules_list(&list);

	for (size_t i = 0; i < count; i++) {
		const struct jfr_library library = {
			.path = list[i]->path,
			.base = list[i]->start,
			.top = list[i]->end,
			.build_id = list[i]->build_id,
			.build_id_size = list[i]->build_id_size,
			.link_address = list[i]->start - list[i]->bias,
			.file_offset = list[i]->file_offset,
		};

		jfr_native_library(jfr, ticks, &library);
	}
}

void chunk_machine(struct jfr_writer *jfr, uint64_t ticks)
{
	struct host_cpu cpu;
	char version[256];

	host_os_version(version, sizeof(version));
	jfr_os_information(jfr, ticks, version);
	host_cpu_read(&cpu);
	jfr_cpu_information(jfr, ticks, cpu.model, cpu.model, cpu.sockets, cpu.cores, cpu.threads);
}

void chunk_load(struct jfr_writer *jfr, uint64_t ticks)
{
	struct host_load load;

	if (!host_load_read(&load))
		jfr_cpu_load(jfr, ticks, load.user, load.system, load.machine);
}
