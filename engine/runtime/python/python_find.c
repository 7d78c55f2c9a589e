/* Search for CPython in this process: in the executable, or in libpython. */
#include "engine/runtime/python/python_find.h"

#include <errno.h>

#include "engine/elf/image_symbols.h"
#include "engine/reading/process_memory.h"

static bool image_has(struct elf *image, const char *name)
{
	Elf64_Sym symbol;

	return !image_symbol(image, name, &symbol);
}

/* Since 3.11 a variable holds the version; before, functions that were new in a version identify it. */
static int find_version(uint16_t *version, struct elf *image, uintptr_t bias)
{
	uint64_t hex = 0;
	Elf64_Sym symbol;

	if (!image_symbol(image, "Py_Version", &symbol)) {
		if (process_memory_read(bias + symbol.st_value, &hex, sizeof(hex)))
			return -EFAULT;
		*version = (uint16_t)(hex >> 16);
		return 0;
	}
	*version = image_has(image, "PyModule_AddObjectRef")       ? 0x030a
		   : image_has(image, "PyFrame_GetBack")           ? 0x0309
		   : image_has(image, "PyCode_NewWithPosOnlyArgs") ? 0x0308
								   : 0;
	return *version ? 0 : -ENOTSUP;
}

static int find_layout(struct python *python, uint16_t version)
{
	const struct python_layout *layout = python_layout_known(version);
	uint8_t offsets[PYTHON_OFFSETS_BYTES];
	int err;

	if (layout) {
		python->layout = *layout;
		return 0;
	}
	err = process_memory_read(python->runtime, offsets, sizeof(offsets));
	if (err)
		return err;
	return python_layout_read(&python->layout, version, offsets) ? 0 : -ENOTSUP;
}

int python_find(struct python *python, struct elf *image, const struct module *module)
{
	Elf64_Sym runtime, code_type, evaluator;
	uint16_t version;
	int err = image_symbol(image, "_PyRuntime", &runtime);

	if (!err)
		err = image_symbol(image, "PyCode_Type", &code_type);
	if (!err)
		err = image_symbol(image, "_PyEval_EvalFrameDefault", &evaluator);
	if (!err)
		err = find_version(&version, image, module->bias);
	if (err)
		return err;
	python->runtime = module->bias + runtime.st_value;
	python->runtime_bytes = runtime.st_size;
	python->code_type = module->bias + code_type.st_value;
	python->base = (struct runtime){
		.kind = RUNTIME_PYTHON,
		.text = module->start,
		.text_end = module->end,
		.evaluator = module->bias + evaluator.st_value,
		.evaluator_end = module->bias + evaluator.st_value + evaluator.st_size,
	};
	return find_layout(python, version);
}

bool python_find_several(const struct python *python)
{
	uintptr_t first = 0, second = 0;

	return !process_memory_read(python->runtime + python->layout.runtime_interpreters, &first,
				    sizeof(first)) &&
	       first &&
	       !process_memory_read(first + python->layout.interpreter_next, &second,
				    sizeof(second)) &&
	       second;
}
