/* Search for PHP in this process: in the executable of the CLI or of FPM, or in libphp. */
#include "engine/runtime/php/php_find.h"

#include <errno.h>

#include "engine/elf/image_symbols.h"

/* PHP sets its version variable only when it starts, and the search may be earlier. So a function
 * or variable that was new in each version identifies it. */
static const struct {
	uint16_t version;
	const char *came_with_it;
} versions[] = {
	{ 0x0805, "zend_ce_delayed_target_validation" },
	{ 0x0804, "zend_lazy_object_get_properties" },
	{ 0x0803, "zend_call_stack_get" },
	{ 0x0802, "zend_observer_function_declared_observed" },
	{ 0x0801, "zend_fiber_init_context" },
	{ 0x0800, "zend_get_attribute_str" },
	{ 0x0704, "zend_hash_real_init_mixed" },
};

static uint16_t find_version(struct elf *image)
{
	Elf64_Sym symbol;

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (!image_symbol(image, versions[i].came_with_it, &symbol))
			return versions[i].version;
	return 0;
}

static const char *const callers[PHP_CALLERS] = {
	"zend_call_function",
	"zend_init_func_execute_data",
	"zend_execute",
	"zend_generator_resume",
};

int php_find(struct php *php, struct elf *image, const struct module *module)
{
	const struct php_layout *layout;
	Elf64_Sym globals, evaluator, symbol;
	int err = image_symbol(image, "execute_ex", &evaluator);

	if (!err)
		err = image_symbol(image, "zend_call_function", &symbol);
	if (err)
		return err;
	/* A build with threads has separate globals per thread and lacks this variable. */
	if (image_symbol(image, "executor_globals", &globals))
		return -ENOTSUP;
	layout = php_layout_known(find_version(image));
	if (!layout || layout->globals_current + sizeof(uintptr_t) > globals.st_size)
		return -ENOTSUP;
	php->layout = *layout;
	php->globals = module->bias + globals.st_value;
	php->base = (struct runtime){
		.kind = RUNTIME_PHP,
		.finds_own_frames = true,
		.text = module->start,
		.text_end = module->end,
		.evaluator = module->bias + evaluator.st_value,
		.evaluator_end = module->bias + evaluator.st_value + evaluator.st_size,
	};
	for (size_t i = 0; i < PHP_CALLERS; i++) {
		if (image_symbol(image, callers[i], &symbol))
			continue;
		php->callers[i].start = module->bias + symbol.st_value;
		php->callers[i].end = php->callers[i].start + symbol.st_size;
	}
	return 0;
}
