/* Slots of import tables. */
#include "preload/interpose/import_slots.h"

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "arch/arch.h"
#include "core/kernel.h"
#include "core/system.h"

/* The dynamic linker protects only whole pages of the segment: of the last page, the rest may be variables. */
static void relro_read(struct import_module *module, uintptr_t start, uintptr_t end)
{
	module->relro = start;
	module->relro_end = end - end % getauxval(AT_PAGESZ);
}

void import_module_read(struct import_module *module, const struct dl_phdr_info *info)
{
	*module = (struct import_module){ .base = info->dlpi_addr, .low = UINTPTR_MAX };
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr,
			  end = start + segment->p_memsz;

		if (segment->p_type == PT_DYNAMIC)
			module->dynamic = (const ElfW(Dyn) *)start;
		if (segment->p_type == PT_LOAD && start < module->low)
			module->low = start;
		if (segment->p_type == PT_LOAD && end > module->high)
			module->high = end;
		if (segment->p_type == PT_GNU_RELRO)
			relro_read(module, start, end);
	}
}

/* Return the value of TAG; 0 when there is none. */
static uintptr_t dynamic_value(const struct import_module *module, ElfW(Sxword) tag)
{
	for (const ElfW(Dyn) *entry = module->dynamic; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == tag)
			return entry->d_un.d_val;
	return 0;
}

/* Return the table of TAG. glibc's dynamic linker has replaced the offset by an address; musl's has not. */
static const void *dynamic_table(const struct import_module *module, ElfW(Sxword) tag)
{
	uintptr_t at = dynamic_value(module, tag);

	return (const void *)(at < module->base ? module->base + at : at);
}

/* While the dynamic linker still relocates a module in another thread, its pages are writable, and must stay so. Returns
 * false if the page of SLOT is not writable. */
static bool set_if_writable(void **slot, void *function)
{
	struct iovec from = { &function, sizeof(function) }, to = { slot, sizeof(*slot) };

	return kernel_call6(SYS_process_vm_writev, system_process(), (long)&from, 1, (long)&to, 1,
			    0) == sizeof(*slot);
}

int import_slot_set(const struct import_module *module, void **slot, void *function)
{
	uintptr_t page_bytes = getauxval(AT_PAGESZ), at = (uintptr_t)slot;
	uintptr_t page = at - at % page_bytes;
	bool protected = at >= module->relro && at < module->relro_end;
	long err = 0;

	if (protected && set_if_writable(slot, function))
		return 0;
	if (protected)
		err = kernel_call4(SYS_mprotect, (long)page, (long)page_bytes,
				   PROT_READ | PROT_WRITE, 0);
	if (err)
		return (int)err;
	__atomic_store_n(slot, function, __ATOMIC_RELEASE);
	if (protected)
		err = kernel_call4(SYS_mprotect, (long)page, (long)page_bytes, PROT_READ, 0);
	return (int)err;
}

int import_slots_visit(const struct import_module *module, import_visitor *visit, void *data)
{
	static const struct {
		ElfW(Sxword) relocations, bytes;
	} tables[] = { { DT_JMPREL, DT_PLTRELSZ }, { DT_RELA, DT_RELASZ } };
	const ElfW(Sym) *symbols = dynamic_table(module, DT_SYMTAB), *symbol;
	const char *strings = dynamic_table(module, DT_STRTAB);
	int err = 0;

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		const ElfW(Rela) *relocation = dynamic_table(module, tables[t].relocations);
		size_t n = dynamic_value(module, tables[t].bytes) / sizeof(*relocation);

		for (size_t i = 0; i < n && !err; i++, relocation++) {
			uint64_t type = ELF64_R_TYPE(relocation->r_info);

			if (type != ARCH_R_FUNCTION && type != ARCH_R_VARIABLE)
				continue;
			symbol = &symbols[ELF64_R_SYM(relocation->r_info)];
			err = visit(module, (void **)(module->base + relocation->r_offset), symbol,
				    strings + symbol->st_name, data);
		}
	}
	return err;
}
