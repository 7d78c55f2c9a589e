# Libraries linked into the preload and the command.
#
#   libiberty   demangles C++ and Rust          liblzma   unpacks .gnu_debugdata
#   libcurl, mbedTLS   uploads                  libzip, zlib   .zip files        cJSON   JSON
#
# The last five are built once by scripts/build-deps, from Debian's source packages, of the versions
# and hashes that scripts/deps.lock names:
#
# llhttp, which reads HTTP requests, is built by scripts/build-llhttp, in seconds.
#
#   DEPS_BUILD=…    where they are built and kept (build/deps); trees may share one
#   DEPS_DIR=…      build them from the upstream tarballs in this directory
#
# The first two, and Check for the unit tests, are the distribution's own; for a cross-build
# scripts/cross-packages brings them. The agent's image (scripts/image.mk) has all of them once more, in
# image/ there, and beside them the C library that it runs with, musl.

.DEFAULT_GOAL := all
DEPS_BUILD ?= build/deps

deps_dir := $(DEPS_BUILD)$(if $(CROSS),/$(patsubst %-,%,$(CROSS)))
# Named after what built them, so that a tree whose recipe differs builds its own.
deps_stamp := ready-$(firstword $(shell \
	{ cat scripts/build-deps scripts/mbedtls_config.h; grep -vE ' maven |^nghttp2 ' scripts/deps.lock; } | cksum))
DEPS_READY := $(deps_dir)/$(deps_stamp)
DEPS_CFLAGS := -isystem $(deps_dir)/include
DEPS_LIBS := $(addprefix $(deps_dir)/lib/,libcurl.a libmbedtls.a libmbedx509.a libmbedcrypto.a \
	     libzip.a libz.a libcjson.a)

$(DEPS_READY):
	$(Q)DEPS_DIR='$(DEPS_DIR)' CROSS='$(CROSS)' scripts/build-deps $(deps_dir) $(deps_stamp)

# By itself: nothing else is built anew for it, and so it is not in DEPS_READY.
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
