# Sources with code that runs in signal handlers or allocator hooks.
CFLAGS_engine_unwind := $(SIGNAL_FLAGS)
CFLAGS_engine_ring   := $(SIGNAL_FLAGS)
CFLAGS_engine_sampler := $(SIGNAL_FLAGS)
