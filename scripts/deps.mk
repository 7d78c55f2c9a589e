# Libraries linked into the preload and the command.
#
#   libiberty   demangles C++ and Rust          liblzma   unpacks .gnu_debugdata
#   libcurl, mbedTLS   uploads                  libzip, zlib   .zip files        cJSON   JSON
#
# The last five are built once by scripts/build-deps, from Debian's source packages, with the versions and hashes in
# scripts/deps.lock:
#
# scripts/build-llhttp builds llhttp, the parser of HTTP requests, in seconds.
#
#   DEPS_BUILD=…    the directory for them (build/deps); trees may share one
#   DEPS_DIR=…      build them from the upstream tarballs in this directory
#
# The first two, and Check for the unit tests, are the distribution's own; for a cross-build scripts/cross-packages
# downloads them. For the agent's image (scripts/image.mk) all of them are built once more, into image/ there,
# together with its C library, musl.

.DEFAULT_GOAL := all
DEPS_BUILD ?= build/deps

deps_dir := $(DEPS_BUILD)$(if $(CROSS),/$(patsubst %-,%,$(CROSS)))
# Named after the recipe, so that a tree with another recipe builds its own.
deps_stamp := ready-$(firstword $(shell \
	{ cat scripts/build-deps scripts/mbedtls_config.h; grep -vE ' maven |^nghttp2 ' scripts/deps.lock; } | cksum))
DEPS_READY := $(deps_dir)/$(deps_stamp)
DEPS_CFLAGS := -isystem $(deps_dir)/include
DEPS_LIBS := $(addprefix $(deps_dir)/lib/,libcurl.a libmbedtls.a libmbedx509.a libmbedcrypto.a \
	     libzip.a libz.a libcjson.a)

$(DEPS_READY):
	$(Q)CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' DEPS_DIR='$(DEPS_DIR)' CROSS='$(CROSS)' scripts/check-packages
	$(Q)DEPS_DIR='$(DEPS_DIR)' CROSS='$(CROSS)' scripts/build-deps $(deps_dir) $(deps_stamp)

# Separate: nothing else is rebuilt for it, so it is not in DEPS_READY.
llhttp := $(deps_dir)/llhttp
llhttp_stamp := ready-$(firstword $(shell { cat scripts/build-llhttp; grep '^nghttp2 ' scripts/deps.lock; } | cksum))
LLHTTP_READY := $(llhttp)/$(llhttp_stamp)
DEPS_CFLAGS += -isystem $(llhttp)/include
DEPS_LIBS += $(llhttp)/lib/libllhttp.a

$(LLHTTP_READY): $(DEPS_READY)
	$(Q)DEPS_DIR='$(DEPS_DIR)' CROSS='$(CROSS)' scripts/build-llhttp $(llhttp) $(llhttp_stamp) $(deps_dir)/image

ifdef CROSS
packages := $(deps_dir)/packages
packages_stamp := ready-$(firstword $(shell cksum <scripts/cross-packages))
DEPS_READY += $(packages)/$(packages_stamp)
DEPS_CFLAGS += -isystem $(packages)/usr/include
DEPS_LIBS += -L$(packages)/usr/lib/$(patsubst %-,%,$(CROSS))
CHECK_LIBS := -lcheck_pic -lsubunit -lrt

$(packages)/$(packages_stamp):
	$(Q)scripts/cross-packages $(CROSS) $(packages) $(packages_stamp)
else
CHECK_LIBS := $(or $(shell pkg-config --libs check 2>/dev/null),-lcheck)
endif

DEPS_LIBS += -l:libiberty.a -l:liblzma.a
