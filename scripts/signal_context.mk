# Rooms with code that runs in signal handlers or allocator hooks.
CFLAGS_in_arch_$(ARCH) := $(SIGNAL_FLAGS)
CFLAGS_in_arch_generic := $(SIGNAL_FLAGS)
CFLAGS_in_engine_reading := $(SIGNAL_FLAGS)
CFLAGS_in_engine_unwind := $(SIGNAL_FLAGS)
# (This code reads any data, so the sanitizers must check it.)
CFLAGS_in_engine_cfi := -fno-stack-protector
CFLAGS_in_engine_sample := -fno-stack-protector
CFLAGS_in_engine_memory := -fno-stack-protector
CFLAGS_in_core_memory := -fno-stack-protector
CFLAGS_in_core_timer := -fno-stack-protector

# Single files; the rest of their room does not run there.
CFLAGS_core_clock := -fno-stack-protector
CFLAGS_core_disposition := -fno-stack-protector
CFLAGS_core_format := -fno-stack-protector
CFLAGS_core_random := -fno-stack-protector
CFLAGS_core_signal_share := -fno-stack-protector
CFLAGS_core_vdso := -fno-stack-protector
CFLAGS_core_wake := -fno-stack-protector
CFLAGS_engine_context_thread_context := $(SIGNAL_FLAGS)
CFLAGS_engine_context_thread_labels := $(SIGNAL_FLAGS)
CFLAGS_engine_runtime_frame_table := -fno-stack-protector
CFLAGS_engine_runtime_go_go_labels := $(SIGNAL_FLAGS)
CFLAGS_engine_runtime_jvm_jvm_mix := -fno-stack-protector
CFLAGS_engine_runtime_mixed_stack := -fno-stack-protector
CFLAGS_engine_runtime_perl_perl_names := -fno-stack-protector
CFLAGS_engine_runtime_perl_perl_walk := -fno-stack-protector
CFLAGS_engine_runtime_php_php_walk := -fno-stack-protector
CFLAGS_engine_runtime_python_python_code := -fno-stack-protector
CFLAGS_engine_runtime_python_python_walk := -fno-stack-protector
CFLAGS_engine_runtime_ruby_ruby_cache := -fno-stack-protector
CFLAGS_engine_runtime_ruby_ruby_lines := -fno-stack-protector
CFLAGS_engine_runtime_ruby_ruby_merge := -fno-stack-protector
CFLAGS_engine_runtime_ruby_ruby_names := -fno-stack-protector
CFLAGS_engine_runtime_ruby_ruby_place := -fno-stack-protector
CFLAGS_engine_runtime_ruby_ruby_walk := -fno-stack-protector
CFLAGS_engine_runtime_v8_v8_code := -fno-stack-protector
CFLAGS_engine_runtime_v8_v8_function := -fno-stack-protector
CFLAGS_engine_runtime_v8_v8_heap := -fno-stack-protector
CFLAGS_engine_runtime_v8_v8_lines := -fno-stack-protector
CFLAGS_engine_runtime_v8_v8_walk := -fno-stack-protector
CFLAGS_engine_sample_sampler := $(SIGNAL_FLAGS)
CFLAGS_asyncprof_signal_handlers := -fno-stack-protector
CFLAGS_preload_interpose_sample := -fno-stack-protector
CFLAGS_preload_interpose_program_handler := -fno-stack-protector
CFLAGS_preload_interpose_unseen_call := -fno-stack-protector
CFLAGS_preload_interpose_wait_limit := -fno-stack-protector
CFLAGS_preload_interpose_restart := -fno-stack-protector

# It runs in a thread that no C library knows, and a sanitizer asks for the thread's stack if a function does not
# return. (The thread that started it, whose thread pointer it has, may have ended.)
CFLAGS_in_preload_image := -fno-sanitize=all -fno-stack-protector

# clang's thread sanitizer calls it before it can determine the caller.
CFLAGS_core_at_fork := -fno-sanitize=all
