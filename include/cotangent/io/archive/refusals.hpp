// SPDX-License-Identifier: BSL-1.0
#ifndef COTANGENT_IO_ARCHIVE_REFUSALS_HPP
#define COTANGENT_IO_ARCHIVE_REFUSALS_HPP

#include <cotangent/core/refusal.hpp>

// Refusals of reading and writing archives. All are thrown as `io_error`, with the file and the offending
// content.

namespace cotangent::refusals {

// clang-format off

COTANGENT_REFUSAL_OF(archive_open, allowed, "cotangent: archive: the file must exist and be readable")
COTANGENT_REFUSAL_OF(archive_write, allowed, "cotangent: archive: the file could not be written; the previous file is unchanged")
COTANGENT_REFUSAL_OF(archive_regular, allowed, "cotangent: archive: the target must be a regular file, a symbolic link to one, or nothing")
COTANGENT_REFUSAL_OF(archive_read_back, allowed, "cotangent: archive: the written file must be read back as the same graph; it was not, and the previous file is unchanged")
COTANGENT_REFUSAL_OF(archive_length, allowed, "cotangent: archive: a safetensors file must begin with the length of its header, which must lie within the file")
COTANGENT_REFUSAL_OF(archive_json, allowed, "cotangent: archive: the header must be JSON, without repeated keys and nested no deeper than 16")
COTANGENT_REFUSAL_OF(archive_header, allowed, "cotangent: archive: the header must list tensors by dtype, shape and data_offsets, and texts in __metadata__")
COTANGENT_REFUSAL_OF(archive_dtype, allowed, "cotangent: archive: the dtype of a tensor must be one of the safetensors format")
COTANGENT_REFUSAL_OF(archive_size, allowed, "cotangent: archive: a tensor must have as many bytes as its dtype and shape say")
COTANGENT_REFUSAL_OF(archive_place, allowed, "cotangent: archive: tensors must be contiguous, up to the end of the file")
COTANGENT_REFUSAL_OF(archive_bool, allowed, "cotangent: archive: the bytes of a bool must be 0 or 1")
COTANGENT_REFUSAL_OF(archive_large, allowed, "cotangent: archive: a tensor must have at most 2^42 elements and 8 axes, and no negative extent")
COTANGENT_REFUSAL_OF(archive_unknown, allowed, "cotangent: archive: the name must exist in the file")
COTANGENT_REFUSAL_OF(archive_element, allowed, "cotangent: archive: the requested element type must be that of the tensor; some types of files have no equivalent in the library")
COTANGENT_REFUSAL_OF(archive_name, allowed, "cotangent: archive: names must be UTF-8 without zeros, not empty, other than __metadata__, and differ")
COTANGENT_REFUSAL_OF(archive_changed, allowed, "cotangent: archive: the file was damaged, or changed after it was written")
COTANGENT_REFUSAL_OF(archive_no_graph, allowed, "cotangent: archive: the file holds tensors but no graph; read it with ct::archive::read")
COTANGENT_REFUSAL_OF(archive_version, allowed, "cotangent: archive: the graph must be of a version that this library reads")
COTANGENT_REFUSAL_OF(archive_graph, allowed, "cotangent: archive: the graph in the file must be well formed")
COTANGENT_REFUSAL_OF(archive_operation, allowed, "cotangent: archive: every operation of the graph must be known; name your own, as in load(path, ct::operations<softsign>{})")
COTANGENT_REFUSAL_OF(archive_address, allowed, "cotangent: archive: a graph must not call functions of this process, such as those of ct::external")
COTANGENT_REFUSAL_OF(archive_one_name, allowed, "cotangent: archive: two operations must not have one name; a file knows operations by their names")
COTANGENT_REFUSAL_OF(archive_fit, allowed, "cotangent: archive: data must have the element type and the shape of the input that they are bound to")
COTANGENT_REFUSAL_OF(archive_open_body, allowed, "cotangent: archive: a graph must not be saved while a loop or a branch of it is being built")

// clang-format on

} // namespace cotangent::refusals

#endif
