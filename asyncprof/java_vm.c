/* The Java VM as async-profiler sees it: the calls of its invocation interface are forwarded. */
#include "asyncprof/java_vm.h"

#include <stddef.h>

#include "asyncprof/loader_gate.h"
#include "core/loaded_symbol.h"

/* JavaVM and JNIInvokeInterface of the Java Native Interface Specification, The Invocation API. */
struct java_vm {
	const struct vm_calls *calls;
};

struct vm_calls {
	void *reserved[3];
	int (*destroy)(struct java_vm *vm);
	int (*attach)(struct java_vm *vm, void **env, void *arguments);
	int (*detach)(struct java_vm *vm);
	int (*get_env)(struct java_vm *vm, void **env, int version);
	int (*attach_as_daemon)(struct java_vm *vm, void **env, void *arguments);
};

typedef int (*find_vms)(struct java_vm **vms, int max, int *count);

static find_vms find_real;
static struct java_vm *real;
static void (*on_end)(void);
static __thread bool is_attached;

static int vm_destroy(struct java_vm *vm)
{
	(void)vm;
	return real->calls->destroy(real);
}

static int vm_attach(struct java_vm *vm, void **env, void *arguments)
{
	(void)vm;
	return real->calls->attach(real, env, arguments);
}

static int vm_detach(struct java_vm *vm)
{
	(void)vm;
	is_attached = false;
	return real->calls->detach(real);
}

static int vm_get_env(struct java_vm *vm, void **env, int version)
{
	int err = real->calls->get_env(real, env, version);

	(void)vm;
	if (err && is_attached)
		on_end();
	return err;
}

static int vm_attach_as_daemon(struct java_vm *vm, void **env, void *arguments)
{
	int err = real->calls->attach_as_daemon(real, env, arguments);

	(void)vm;
	is_attached = !err;
	return err;
}

static int find_replacement(struct java_vm **vms, int max, int *count)
{
	static const struct vm_calls calls = { .destroy = vm_destroy,
					       .attach = vm_attach,
					       .detach = vm_detach,
					       .get_env = vm_get_env,
					       .attach_as_daemon = vm_attach_as_daemon };
	static struct java_vm replacement = { &calls };
	int err = find_real(vms, max, count);

	if (err || max < 1 || *count != 1)
		return err;
	real = vms[0];
	vms[0] = &replacement;
	return 0;
}

bool java_vm_is_created(void)
{
	struct java_vm *vm;
	find_vms find;
	int count = 0;

	loader_gate_enter();
	*(void **)&find = loaded_symbol_first("JNI_GetCreatedJavaVMs").address;
	loader_gate_leave();
	return !find || (!find(&vm, 1, &count) && count > 0);
}

void java_vm_on_end(void (*ended)(void))
{
	on_end = ended;
}

void *java_vm_replace_find(void *find)
{
	find_real = (find_vms)find;
	return find ? (void *)find_replacement : NULL;
}
