# Libraries linked into the preload and the command.
#   libiberty   demangles C++ and Rust          liblzma   unpacks .gnu_debugdata
DEPS_LIBS := -l:libiberty.a -l:liblzma.a
