# The agent's image: the code of the agent's own threads, with its own C library (scripts/build-deps), as a static
# program that can be at any address.
#
#   $(B)/image/agent        for debuggers and addr2line
#   $(B)/image/agent.flat, agent.data, layout.h      the contents of the preload (scripts/image-layout)

# in_world WORLDS,FILES: the FILES that scripts/worlds has in one of WORLDS, a|b.
in_world = $(shell printf '%s\n' $(sort $(2)) | awk ' \
	FNR == NR { if ($$1 !~ /^\043/ && NF) world[$$1] = $$2; next } \
	{ for (n = length($$0); n && !(substr($$0, 1, n) in world); n--); } \
	world[substr($$0, 1, n)] ~ /^($(1))$$/' scripts/worlds -)

image_src := $(call in_world,agent|both,$(wildcard image/*.c) $(own_src))
image_obj := $(patsubst %.c,$(B)/image/obj/%.o,$(image_src)) $(B)/image/obj/image/host_calls.o
image := $(B)/image/agent

# Sanitizers do not know this C library. (A debugger reads .debug_frame; no other unwinder is used.)
image_deps := $(deps_dir)/image
IMAGE_CFLAGS := -std=gnu11 $(WARNINGS) -O2 -g $(filter -ffile-prefix-map=%,$(CFLAGS)) -fPIE \
	-fvisibility=hidden -ffunction-sections -fdata-sections -fstack-protector-strong \
	-fno-omit-frame-pointer -fno-asynchronous-unwind-tables -U_FORTIFY_SOURCE -ftls-model=local-exec -DASPROF_IMAGE=1 -nostdinc \
	-isystem $(image_deps)/include -isystem $(llhttp)/include -isystem $(shell $(CC) -print-file-name=include)

# The largest page size of such a machine.
IMAGE_PAGE := $(if $(filter aarch64,$(ARCH)),65536,4096)
IMAGE_LDFLAGS := -nostdlib -static -Wl,-pie,--no-dynamic-linker -Wl,-z,text,-z,defs,-z,noexecstack \
	-Wl,-z,now,-z,relro,-z,separate-code,-z,max-page-size=$(IMAGE_PAGE) \
	-Wl,-z,common-page-size=$(IMAGE_PAGE) -Wl,--gc-sections,--build-id,--hash-style=gnu \
	$(if $(findstring pack-relative-relocs,$(shell $(CC) -Wl,--help 2>/dev/null)),-Wl$(comma)-z$(comma)pack-relative-relocs)
IMAGE_LIBS := $(addprefix $(image_deps)/lib/lib,curl.a mbedtls.a mbedcrypto.a zip.a z.a cjson.a lzma.a \
	      iberty.a c.a) $(llhttp)/image/lib/libllhttp.a
link_image = $(CC) $(IMAGE_LDFLAGS) -o $(1) $(addprefix $(image_deps)/lib/,rcrt1.o crti.o) $(2) \
	     -Wl,--start-group $(IMAGE_LIBS) -lgcc -Wl,--end-group $(image_deps)/lib/crtn.o

$(image_obj): $(DEPS_READY) | $(LLHTTP_READY)

$(B)/image/obj/%.o: %.c
	$(call say,CC,$< (image))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(IMAGE_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/image/obj/%.o: %.S
	$(call say,AS,$< (image))
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -MMD -MP -c -o $@ $<

# It may be called in a thread without a canary, or with an overwritten one.
$(B)/image/obj/image/ending.o: IMAGE_CFLAGS += -fno-stack-protector

$(image): $(image_obj) scripts/check-image
	$(call say,LD,$@)
	$(Q)$(call link_image,$@,$(image_obj))
	$(Q)READELF=$(CROSS)readelf NM=$(CROSS)nm scripts/check-image $@

$(B)/image/layout.h: $(image) scripts/image-layout
	$(Q)READELF=$(CROSS)readelf scripts/image-layout $< $(B)/image

# scripts/image-layout writes them before layout.h. They must not be older, or make links the preload again.
$(B)/image/agent.flat $(B)/image/agent.data: $(B)/image/layout.h
	$(Q)touch $@

-include $(image_obj:.o=.d)

# Its C library alone, with the agent's replacements; run as a program.
image_test := $(if $(SAN),,$(B)/test/image/libc)
image_test_obj := $(addprefix $(B)/image/obj/,test/image/libc.o core/memory/account.o core/memory/region.o image/ending.o image/memory.o)
$(image_test_obj): $(DEPS_READY)
$(image_test): $(image_test_obj)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(call link_image,$@,$(image_test_obj))
