// Shared by object.c (identity and blocks) and object_elf.c (headers and index).
#ifndef COLLECTORS_KERNEL_UNWIND_OBJECT_PRIVATE_H
#define COLLECTORS_KERNEL_UNWIND_OBJECT_PRIVATE_H

#include "collectors/kernel/unwind/object.h"

// Entries of the indexes that are made where a file has no search table; of all objects together.
#define UNWIND_INDEX_MAX (512u << 10)

// Reads the ELF headers of a new object and finds its tables: a state.
uint8_t unwind_object_load(const struct unwind_file *file, size_t index_room);

#endif
