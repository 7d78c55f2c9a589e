/* Search for Perl in this process: in the executable, or in libperl. */
#include "engine/runtime/perl/perl_find.h"

#include <errno.h>

#include "engine/elf/image_symbols.h"
#include "engine/reading/process_memory.h"

static uintptr_t symbol_address(struct elf *image, uintptr_t bias, const char *name, uint64_t *size)
{
	Elf64_Sym symbol;

	if (image_symbol(image, name, &symbol))
		return 0;
	if (size)
		*size = symbol.st_size;
	return bias + symbol.st_value;
}

static int find_layout(struct perl *perl, struct elf *image, uintptr_t bias)
{
	uintptr_t revision = symbol_address(image, bias, "PL_revision", NULL);
	uintptr_t version = symbol_address(image, bias, "PL_version", NULL);
	const struct perl_layout *layout;
	uint8_t bytes[2];

	if (!revision || !version)
		return -ENOTSUP;
	if (process_memory_read(revision, &bytes[0], 1) ||
	    process_memory_read(version, &bytes[1], 1))
		return -EFAULT;
	layout = bytes[0] == 5 ? perl_layout_known(bytes[1]) : NULL;
	if (!layout)
		return -ENOTSUP;
	perl->layout = *layout;
	return 0;
}

static const char *const functions[PERL_FUNCTIONS] = {
	[PERL_RUN] = "perl_run",
	[PERL_CALL] = "Perl_call_sv",
	[PERL_EVAL] = "Perl_eval_sv",
	[PERL_OVERLOAD] = "Perl_amagic_call",
	[PERL_OPERATION] = "Perl_pp_entereval",
};

int perl_find(struct perl *perl, struct elf *image, const struct module *module)
{
	uintptr_t bias = module->bias, evaluator;
	uint64_t size;
	int err;

	evaluator = symbol_address(image, bias, "Perl_runops_standard", &size);
	if (!evaluator)
		return -ENOENT;
	err = find_layout(perl, image, bias);
	if (err)
		return err;
	perl->key = symbol_address(image, bias, "PL_thr_key", NULL);
	perl->first = symbol_address(image, bias, "PL_curinterp", NULL);
	perl->stack = symbol_address(image, bias, "PL_curstackinfo", NULL);
	perl->statement = symbol_address(image, bias, "PL_curcop", NULL);
	perl->compiling = symbol_address(image, bias, "PL_compiling", NULL);
	perl->operation = symbol_address(image, bias, "PL_op", NULL);
	perl->variables = symbol_address(image, bias, "PL_curpad", NULL);
	if (!(perl->key && perl->first) && !(perl->stack && perl->statement && perl->compiling))
		return -ENOTSUP;
	perl->base = (struct runtime){
		.kind = RUNTIME_PERL,
		.text = module->start,
		.text_end = module->end,
		.evaluator = evaluator,
		.evaluator_end = evaluator + size,
	};
	for (size_t i = 0; i < PERL_FUNCTIONS; i++) {
		perl->functions[i].start = symbol_address(image, bias, functions[i], &size);
		if (perl->functions[i].start)
			perl->functions[i].end = perl->functions[i].start + size;
	}
	return 0;
}
