# asprof-agent: build, check, measure, install. `make help` lists the targets.
#
#   V=1                    print the commands
#   CC=clang               another compiler
#   SAN=address,undefined  sanitizers (or SAN=thread); built in a separate tree
#   CROSS=aarch64-linux-gnu-   cross-build; tests then run under qemu-user
#   WERROR=1               warnings are errors, as in the checks
#   UNIT='buf url'         only these unit tests
#   TEST='forks exits'     only these system tests
#   ASYNCPROF=0            without asyncprof/; built in a separate tree

PREFIX  ?= /usr/local
DESTDIR ?=
VERSION := 0.1.0

ifeq ($(origin CC),default)
CC := $(CROSS)gcc
endif
AR := $(CROSS)ar

# One tree for each combination of compiler and sanitizer, so none spoils another.
without_asyncprof := $(filter 0,$(ASYNCPROF))
empty :=
space := $(empty) $(empty)
comma := ,
variant := $(strip $(filter-out gcc,$(notdir $(CC))) $(if $(SAN),san-$(subst $(comma),-,$(SAN))) \
	   $(if $(without_asyncprof),no-asyncprof))
B := build$(if $(variant),/$(subst $(space),-,$(variant)))

# The command that runs a cross-built test here; tools that the test calls by name are that machine's too.
ifdef CROSS
EMULATED := PATH="$(CURDIR)/$(B)/tools:$$PATH" \
	    TEST_RUNNER='qemu-$(firstword $(subst -, ,$(CROSS))) -L /usr/$(patsubst %-,%,$(CROSS))'
CROSS_TOOLS := $(addprefix $(B)/tools/,cc c++ strip objcopy readelf)
endif

Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-6s %s\n' '$(1)' '$(2)')

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
	    -Wvla -Wundef $(if $(WERROR),-Werror)
CPPFLAGS += -D_GNU_SOURCE -DASPROF_AGENT_VERSION='"$(VERSION)"' -I.
# (A sanitizer's checks make up half of the compilation at -O2, and its reports name lines, not variables.)
CFLAGS ?= $(if $(SAN),-O1 -g1,-O2 -g)
# A fortified object would need glibc's *_chk entries, which other C libraries lack.
AGENT_CFLAGS := -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden -ffunction-sections \
		-fdata-sections -fstack-protector-strong -fno-omit-frame-pointer -U_FORTIFY_SOURCE \
		-ftls-model=initial-exec -pthread
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)

# Set by scripts/deps.mk: headers and static libraries that are linked in.
DEPS_CFLAGS :=
DEPS_LIBS   :=
DEPS_READY  :=
-include scripts/deps.mk

ALL_CFLAGS = $(AGENT_CFLAGS) $(CFLAGS) $(SAN_FLAGS) $(DEPS_CFLAGS)

# The target processor, and the files of arch/generic that it does not replace.
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
arch_src    := $(sort $(wildcard arch/$(ARCH)/*.c))
arch_src    += $(filter-out $(arch_src:arch/$(ARCH)/%=arch/generic/%),$(sort $(wildcard arch/generic/*.c)))
core_src    := $(filter-out $(if $(without_asyncprof),,%/no_async_profiler.c),$(sort $(wildcard core/*.c core/*/*.c)))
engine_src  := $(sort $(wildcard engine/*/*.c engine/*/*/*.c))
asyncprof_src := $(if $(without_asyncprof),,$(sort $(wildcard asyncprof/*.c)))
upload_src  := $(sort $(wildcard upload/*/*.c))
endpoint_src := $(sort $(wildcard endpoint/*.c))
attach_dir_src := $(sort $(wildcard attach/*.c attach/*/*.c))
preload_src := $(sort $(wildcard preload/*.c preload/*/*.c))
profile_src := $(sort $(wildcard profile/*/*.c))
decoder_src := $(sort $(wildcard decoder/*.c decoder/*/*.c))
unit_src    := $(sort $(if $(UNIT),$(UNIT:%=test/unit/%.c),$(wildcard test/unit/*.c)))
ifdef without_asyncprof
unit_src    := $(filter-out $(shell grep -l '"asyncprof/' $(unit_src)),$(unit_src))
endif
bench_src   := $(sort $(wildcard test/bench/*.c))
fuzz_src    := $(sort $(wildcard test/fuzz/*.c))

objects = $(patsubst %.c,$(B)/obj/%.o,$(1))
agent_obj   := $(call objects,$(arch_src) $(core_src) $(engine_src) $(asyncprof_src) $(upload_src) \
	       $(endpoint_src))
preload_obj := $(call objects,$(preload_src))
profile_obj := $(call objects,$(profile_src))
# The tracers: of running programs, which the command has; of static programs, which the launcher has too.
tracing_src := $(sort $(wildcard attach/tracing/*.c))
tracer_src  := $(filter %/tracer.c %/payload.c %/stopped.c,$(tracing_src)) \
	       $(firstword $(wildcard arch/$(ARCH)/remote.c) arch/generic/remote.c)
decoder_obj := $(call objects,$(decoder_src) $(tracing_src))
# All objects without a constructor and a main, which unit tests, benches and fuzzers link.
library     := $(B)/libasprof_test.a
library_obj := $(filter-out %/canary.o,$(agent_obj)) $(B)/obj/preload/interpose/import_slots.o $(profile_obj) \
	       $(filter-out %/main.o,$(decoder_obj))

unit_bin  := $(patsubst test/unit/%.c,$(B)/test/unit/%,$(unit_src))
bench_bin := $(patsubst test/bench/%.c,$(B)/test/bench/%,$(bench_src))
fuzz_bin  := $(patsubst test/fuzz/%.c,$(B)/test/fuzz/%,$(fuzz_src))

preload := $(B)/libasprof_preload.so
command := $(B)/asprof-agent
launcher := $(B)/asprof-agent-launch
bridge := $(B)/bridge/libasyncProfiler.so

PRELOAD_LDFLAGS := -shared -Wl,--build-id -Wl,-soname,libasprof_preload.so \
	-Wl,--version-script=preload/exports.map -Wl,--exclude-libs,ALL -Wl,-Bsymbolic \
	-Wl,--dynamic-list=preload/allocator.list \
	-nostartfiles -Wl,-z,noseparate-code -Wl,-z,relro,-z,now,-z,defs,-z,nodelete,-z,noexecstack -Wl,--gc-sections \
	-Wl,--hash-style=gnu -Wl,--as-needed

.PHONY: all deps check check-unit check-system check-long bench fuzz install uninstall dist deb rpm java-package release clean format format-check tidy help
.DELETE_ON_ERROR:

# Each of these once its folder exists: the lower layers can be built and tested before.
all: $(DEPS_READY) $(LLHTTP_READY) $(library) $(if $(wildcard preload/exports.map),$(preload)) \
	$(if $(wildcard decoder/main.c),$(command)) $(launcher) $(bridge)

deps: $(DEPS_READY) $(LLHTTP_READY) ## the linked libraries, which all other targets need

# While the libraries are built, sources without their headers are compiled. (A cross-build gets all headers first.)
own_src := $(arch_src) $(core_src) $(engine_src) $(asyncprof_src) $(upload_src) $(endpoint_src) $(profile_src) $(preload_src) \
	   $(decoder_src) $(attach_dir_src)
waiting := $(shell grep -lE '^ *\# *include <(curl|zip|zlib|cjson|mbedtls|psa|llhttp)' $(own_src) $(own_src:.c=.h) \
	     2>/dev/null)
ifneq ($(CROSS)$(filter %.h,$(waiting)),)
waiting := $(own_src)
endif
$(call objects,$(waiting)): $(DEPS_READY) | $(LLHTTP_READY)

$(B)/obj/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(CFLAGS_in_$(subst /,_,$(*D))) $(CFLAGS_$(subst /,_,$*)) -MMD -MP -c -o $@ $<

$(B)/obj/profile/page/page.o $(B)/image/obj/profile/page/page.o: $(wildcard profile/page/*.css profile/page/*.js profile/page/*.html)
$(B)/obj/profile/flamegraph/flamegraph_write.o $(B)/image/obj/profile/flamegraph/flamegraph_write.o: \
	$(wildcard profile/flamegraph/*.css profile/flamegraph/*.js profile/flamegraph/*.html)
$(B)/obj/profile/timeline/timeline.o: $(wildcard profile/timeline/*.css profile/timeline/*.js profile/timeline/*.html)
$(B)/obj/profile/aggregate/preload_frames.o $(B)/image/obj/profile/aggregate/preload_frames.o: preload/exports.map

# A signal handler may run without a thread control block for a canary, and it reads stacks that a sanitizer has
# poisoned.
SIGNAL_FLAGS := -fno-stack-protector -fno-sanitize=all
-include scripts/signal_context.mk
-include scripts/image.mk
-include scripts/attach.mk

# The compiler's flags. If they change, everything is compiled again, except for a change of -Werror. The file is
# written while make reads this file, so an up-to-date tree has nothing to do. A tree without the file is up to date.
flags := $(strip $(filter-out -Werror,$(CPPFLAGS) $(ALL_CFLAGS) | $(IMAGE_CFLAGS)) \
	 $(foreach name,$(sort $(filter CFLAGS_%,$(.VARIABLES))),| $(name) $($(name))))
print_flags := printf '%s\n' '$(subst ','\'',$(flags))'
ifneq ($(filter-out clean format format-check help,$(or $(MAKECMDGOALS),all)),)
$(shell mkdir -p $(B); f=$(B)/flags; [ -e $$f ] || { $(print_flags) >$$f; touch -d 2000-01-01 $$f; }; \
	$(print_flags) | cmp -s - $$f || $(print_flags) >$$f)
endif
$(agent_obj) $(library_obj) $(preload_obj) $(B)/obj/decoder/main.o $(image_obj): $(B)/flags

# The program's side, with the agent's side as a piece of memory. Code that runs at load is together, in front: so
# short programs touch few pages.
host_src := $(call in_world,host|both,$(own_src))
first_src := $(filter core/% preload/% $(addprefix asyncprof/,engine_thread.c signal_handlers.c library_path.c \
	     loader_cache.c process.c) engine/sample/sampler.c,$(host_src))
host_obj := $(call objects,$(first_src) $(filter-out $(first_src),$(host_src))) \
	    $(B)/obj/preload/image/image_file.o

# Otherwise a constructor of libgcc asks glibc for the atomic instructions, and musl has no such call.
ifeq ($(ARCH),aarch64)
$(host_obj): AGENT_CFLAGS += -mno-outline-atomics
endif

$(preload): $(host_obj) preload/exports.map preload/allocator.list preload/layout.ld
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(PRELOAD_LDFLAGS) $(LDFLAGS) -o $@ -Wl,-T,preload/layout.ld $(host_obj)

$(B)/obj/preload/image/image.o $(B)/obj/preload/image/image_file.o: CPPFLAGS += -I$(B)
$(B)/obj/preload/image/image.o: $(B)/image/layout.h
$(B)/obj/preload/image/image_file.o: preload/image/image_file.S $(B)/image/agent.flat $(B)/image/agent.data
	$(call say,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Wa,-I$(B)/image -c -o $@ $<

$(command): $(library_obj) $(B)/obj/decoder/main.o
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -Wl,--build-id -Wl,--gc-sections -Wl,-z,relro,-z,now $(LDFLAGS) -o $@ \
		$(library_obj) $(B)/obj/decoder/main.o $(DEPS_LIBS) -lm

# Static, a few KiB: it has no C library, so no sanitizer and no unwind tables either.
LAUNCHER_FLAGS := -std=gnu11 $(WARNINGS) -Os -g $(filter -ffile-prefix-map=%,$(CFLAGS)) -ffreestanding -fno-pie -fno-stack-protector \
	-fno-asynchronous-unwind-tables -fno-unwind-tables -fno-builtin -nostdlib -static \
	-Wl,--build-id -Wl,-z,noexecstack -Wl,-z,noseparate-code -Wl,-z,max-page-size=4096

$(launcher): launcher/launch.c $(tracer_src) launcher/raw.h attach/channel.h attach/tracing/payload.h attach/tracing/stopped.h attach/tracing/tracer.h core/kernel.h arch/arch.h \
	    arch/remote.h arch/$(ARCH)/arch.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(LAUNCHER_FLAGS) -o $@ $(filter %.c,$^)

# Loaded by the program under async-profiler's name (docs/languages/tokio.md). It calls no C library.
$(bridge): bridge/async_profiler.c core/asprof.h preload/asprof_agent.h
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -std=gnu11 $(WARNINGS) -O2 -g $(filter -ffile-prefix-map=%,$(CFLAGS)) -fPIC -fvisibility=hidden \
		-fno-stack-protector -shared -nostdlib -Wl,--build-id -Wl,-soname,libasyncProfiler.so \
		-Wl,-z,relro,-z,now,-z,nodelete,-z,noexecstack -Wl,--hash-style=gnu -o $@ $<

$(library): $(library_obj) Makefile
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $(library_obj)

# test/fixtures/no_memory.h
LDFLAGS_test_unit_no_memory := $(addprefix -Wl$(comma)--wrap=,malloc calloc realloc reallocarray strdup strndup free)
LDFLAGS_test_unit_wall := $(LDFLAGS_test_unit_no_memory)
# Linked like the preload: lazy binding would use the calling thread's data.
LDFLAGS_test_unit_raw_thread := -Wl,-z,now

# A test's own code is never measured, and the compiler needs a quarter less time for it at -O1.
$(B)/test/unit/%: test/unit/%.c $(library)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(patsubst -O2,-O1,$(ALL_CFLAGS)) -MMD -MP -o $@ $< $(LDFLAGS_test_unit_$*) $(library) \
		$(DEPS_LIBS) $(CHECK_LIBS) -lm

$(B)/test/bench/%: test/bench/%.c $(library)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -o $@ $< $(library) $(DEPS_LIBS) -ldl -lm

$(B)/test/fuzz/%: test/fuzz/%.c $(library)
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -fsanitize=fuzzer -MMD -MP -o $@ $< $(library) $(DEPS_LIBS)

check: check-unit check-system ## unit tests, then the whole agent in real programs

# The unit tests that take three seconds and more, the longest last: scripts/run-tests starts with that.
slow_units := handler_budget memory_reader modules queue region cpu_timer mem_stacks stream_calls mem_churn unwind \
	      symbols jfr_jdk cfi push damage
slow_bin := $(slow_units:%=$(B)/test/unit/%)

check-unit: $(unit_bin) $(image_test) $(CROSS_TOOLS) ## all unit tests; UNIT='buf url' runs these alone
	$(Q)B=$(B) $(EMULATED) scripts/run-tests $(filter-out $(slow_bin),$(unit_bin)) $(image_test) \
		$(filter $(unit_bin),$(slow_bin))

$(CROSS_TOOLS): $(B)/tools/%:
	$(Q)mkdir -p $(@D)
	$(Q)ln -sf "$$(command -v $(CROSS)$(patsubst c%,g%,$(patsubst cc,gcc,$*)))" $@

# The preload cannot be loaded under a sanitizer's runtime, so these run on the plain tree.
system_data := $(B)/test/bench/decoder_data $(B)/test/bench/decoder_frames
check-system: all $(system_data) ## the whole agent in real programs; TEST='forks exits' runs these alone
	$(Q)scripts/check-so $(preload)
	$(Q)CC='$(CC)' NM='$(CROSS)nm' scripts/check-host $(B)
	$(Q)scripts/check-arrows
	$(Q)B=$(B) scripts/docs --check
	$(Q)B=$(B) scripts/run-tests $(if $(TEST),$(TEST:%=test/system/%.sh),$(sort $(wildcard test/system/*.sh)))

quick_system := another_root api children decoder decoder_filters ends_own execs interrupts launch live_threads \
		mem_totals options own_names run samples_taken start_delay thread_calls version
.PHONY: check-quick
check-quick: all $(system_data) $(filter-out $(slow_bin),$(unit_bin)) $(image_test) ## checks in a minute, without slow unit tests
	$(Q)scripts/check-so $(preload)
	$(Q)CC='$(CC)' NM='$(CROSS)nm' scripts/check-host $(B)
	$(Q)scripts/check-arrows
	$(Q)scripts/check-words
	$(Q)scripts/check-sentences
	$(Q)B=$(B) scripts/docs --check
	$(Q)B=$(B) scripts/run-tests $(filter-out all $(system_data),$^) $(quick_system:%=test/system/%.sh)

# Each way of uploading, with a hundred reports each; a Ceph gateway is too large for `check`.
.PHONY: check-stores
check-stores: all ## long tests of uploads to OpenStack Swift and Ceph; installs them
	$(Q)scripts/setup stores
	$(Q)B=$(B) REPORTS=100 VERBOSE=1 TEST_TIMEOUT=900 scripts/run-tests \
		$(addprefix test/system/upload_,swift.sh ceph.sh sts.sh)

bench: all $(bench_bin) ## speed and memory, as ratios against a rival or the bare program
	$(Q)B=$(B) scripts/run-bench

fuzz: ## each parser's fuzzer, FUZZ_SECONDS each (60)
	$(Q)$(MAKE) CC=clang SAN=fuzzer-no-link,address,undefined fuzz-run

.PHONY: fuzz-build fuzz-run
fuzz-build: $(fuzz_bin)

fuzz-run: $(fuzz_bin)
	$(Q)B=$(B) scripts/run-fuzz $(fuzz_bin)

install: all ## install to $(DESTDIR)$(PREFIX)
	$(Q)DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' B='$(B)' CROSS='$(CROSS)' VERSION=$(VERSION) scripts/install

uninstall: ## remove the installed files
	$(Q)DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' B='$(B)' CROSS='$(CROSS)' scripts/install --uninstall

dist: ## dist/: a tarball for this architecture, its debug symbols, SHA256SUMS
	$(Q)CROSS='$(CROSS)' VERSION=$(VERSION) scripts/dist

deb: ## dist/: a Debian package
	$(Q)CROSS='$(CROSS)' VERSION=$(VERSION) scripts/deb

rpm: ## dist/: an RPM package
	$(Q)CROSS='$(CROSS)' VERSION=$(VERSION) scripts/rpm

java-package: ## dist/: async-profiler's library for the agent, as a tarball and packages
	$(Q)CROSS='$(CROSS)' VERSION=$(VERSION) scripts/java-package

release: ## dist/: all packages, the container image, an SBOM; empties dist/ first
	$(Q)VERSION=$(VERSION) scripts/release

check-long: all ## packages, containers, real services, stress; installs debootstrap and lintian
	$(Q)scripts/setup long
	$(Q)B=$(B) TEST_TIMEOUT=1800 scripts/run-tests $(sort $(wildcard test/long/*.sh))

# (Other builds read scripts/ too.)
sources := $(shell git ls-files '*.[ch]' ':!scripts' 2>/dev/null)

format: ## rewrite every source with clang-format
	$(Q)clang-format -i $(sources)

format-check:
	$(Q)clang-format --dry-run -Werror $(sources)

.PHONY: lint
lint: format-check ## formatting, scripts, includes and language of the sources
	$(Q)scripts/check-scripts
	$(Q)scripts/check-arrows
	$(Q)scripts/check-words
	$(Q)scripts/check-sentences

tidy: ## clang-tidy over every source
	$(Q)clang-tidy --quiet $(filter %.c,$(sources)) -- $(CPPFLAGS) -std=gnu11 $(DEPS_CFLAGS)

clean: ## remove the built files, except the libraries in build/deps
	$(Q)find build -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} + 2>/dev/null || true

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 16

-include $(patsubst %.o,%.d,$(agent_obj) $(library_obj) $(preload_obj) $(B)/obj/decoder/main.o)
-include $(addsuffix .d,$(unit_bin) $(bench_bin) $(fuzz_bin))
