# Sources with code that runs in signal handlers or allocator hooks.
CFLAGS_engine_unwind := $(SIGNAL_FLAGS)
CFLAGS_engine_ring := -fno-stack-protector
CFLAGS_engine_sampler := $(SIGNAL_FLAGS)
CFLAGS_engine_unwind_bare := $(SIGNAL_FLAGS)
CFLAGS_engine_unwind_jump := $(SIGNAL_FLAGS)
CFLAGS_engine_unwind_throw := $(SIGNAL_FLAGS)
CFLAGS_engine_unwind_map := $(SIGNAL_FLAGS)
CFLAGS_engine_unwind_x86_64 := $(SIGNAL_FLAGS)
CFLAGS_engine_unwind_aarch64 := $(SIGNAL_FLAGS)
CFLAGS_engine_stack_memory := $(SIGNAL_FLAGS)
CFLAGS_engine_memory_reader := $(SIGNAL_FLAGS)
CFLAGS_engine_cfi_lookup := -fno-stack-protector
CFLAGS_engine_cfi_header := -fno-stack-protector
CFLAGS_engine_cfi_entry := -fno-stack-protector
CFLAGS_engine_cfi_run := -fno-stack-protector
CFLAGS_engine_cfi_state := -fno-stack-protector
CFLAGS_engine_cfi_cursor := -fno-stack-protector
CFLAGS_engine_cfi_rules := -fno-stack-protector
CFLAGS_preload_interpose_sample := -fno-stack-protector
CFLAGS_preload_interpose_program_handler := -fno-stack-protector
CFLAGS_preload_interpose_stream := -fno-stack-protector
CFLAGS_preload_interpose_again := -fno-stack-protector

# The thread sanitizer that clang links in calls it before it can tell who calls.
CFLAGS_core_at_fork := -fno-sanitize=all
