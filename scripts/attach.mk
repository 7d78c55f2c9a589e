# The attached host's side: what the tracer puts into a program that loads no preload. It is compiled from the sources of
# the preload's host side, without interposers and with a C library of its own, of which it uses functions for bytes and
# strings alone. It carries the same image.
#
#   $(B)/libasprof_attach.so      a static program that can stand anywhere in memory; attach/tracing/tracer.c maps it

attach_lib := $(if $(SAN)$(filter-out x86_64,$(ARCH)),,$(B)/libasprof_attach.so)
all: $(attach_lib)

attach_src := $(call in_world,attached,$(own_src)) core/agent/no_async_profiler.c preload/image/image.c \
	      preload/image/host_calls.c \
	      $(filter-out preload/% asyncprof/% core/at_fork.c core/loaded_symbol.c,$(call in_world,host|both,$(own_src)))
attach_obj := $(patsubst %.c,$(B)/attach/obj/%.o,$(sort $(attach_src))) $(B)/obj/preload/image/image_file.o

# (The headers of the interposers name the type as glibc does.)
ATTACH_CFLAGS = $(filter-out -DASPROF_IMAGE=1 -fstack-protector-strong,$(IMAGE_CFLAGS)) -DASPROF_ATTACHED=1 -fno-stack-protector \
	-D__sighandler_t=sighandler_t

$(attach_obj): $(DEPS_READY) $(B)/image/layout.h | $(LLHTTP_READY)

$(B)/attach/obj/%.o: %.c
	$(call say,CC,$< (attached))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -I$(B) $(ATTACH_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/libasprof_attach.so: $(attach_obj) scripts/check-attach
	$(call say,LD,$@)
	$(Q)$(CC) $(filter-out -Wl$(comma)-z$(comma)pack-relative-relocs,$(IMAGE_LDFLAGS)) -Wl,-e,attach_entry -o $@ \
		$(attach_obj) -Wl,--start-group $(image_deps)/lib/libc.a -lgcc -Wl,--end-group
	$(Q)READELF=$(CROSS)readelf NM=$(CROSS)nm scripts/check-attach $@

-include $(attach_obj:.o=.d)
