// Bulk packing for users: between packed elements and one code a byte.
//
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/addresses.h"
#include "core/kernels.h"
#include "core/range.h"

namespace tensorcast::core {
namespace {

struct Storage {
  const TypeInfo* row = nullptr;
  UnpackCodesOf unpack = nullptr;  // both null: whole bytes, or the scalar target
  PackCodesOf pack = nullptr;
};

// What both calls check; `codes` holds an element in each byte, or in as many as its type has.
StatusCode Check(DataType type, const void* packed, std::size_t packed_size, std::uint64_t first,
                 const void* codes, std::size_t codes_size, std::uint64_t n, Target target,
                 Storage* storage) {
  storage->row = FindType(type);
  if (storage->row == nullptr) return StatusCode::kInvalidType;
  if (storage->row->bits == 0) return StatusCode::kWrongCall;
  const Kernels* const kernels = FindKernels(target);
  if (kernels == nullptr) return StatusCode::kTargetUnavailable;
  const auto row = static_cast<std::size_t>(detail::RowIndex(type));
  storage->unpack = kernels->unpack[row];
  storage->pack = kernels->pack[row];
  const StatusCode status = CheckRange(*storage->row, packed, packed_size, first, n);
  if (status != StatusCode::kOk) return status;
  if (n == 0) return StatusCode::kOk;
  if (codes == nullptr) return StatusCode::kNullPointer;
  const auto bits = static_cast<std::uint64_t>(storage->row->bits);
  const std::uint64_t width = std::max<std::uint64_t>(8, bits) / 8;
  if (n > codes_size / width) return StatusCode::kBufferTooSmall;
  const auto codes_begin = reinterpret_cast<std::uintptr_t>(codes);
  const auto begin = reinterpret_cast<std::uintptr_t>(packed) + first * bits / 8;
  const auto end = reinterpret_cast<std::uintptr_t>(packed) + ((first + n) * bits + 7) / 8;
  return end <= codes_begin || codes_begin + n * width <= begin ? StatusCode::kOk
                                                                : StatusCode::kOverlap;
}

std::size_t WholeBytes(const TypeInfo& row, std::uint64_t n) {
  return static_cast<std::size_t>(n * static_cast<std::uint64_t>(row.bits) / 8);
}

}  // namespace
}  // namespace tensorcast::core

namespace tensorcast {
inline namespace TENSORCAST_ABI {

Status Unpack(DataType type, std::span<const std::byte> packed, std::uint64_t first,
              std::span<std::byte> codes, std::uint64_t n, Target target) {
  core::Storage storage;
  const StatusCode status = core::Check(type, packed.data(), packed.size(), first, codes.data(),
                                        codes.size(), n, target, &storage);
  if (status != StatusCode::kOk || n == 0) return Status(status);
  if (!storage.row->is_packed()) {
    core::MoveBytes(codes.data(), packed.data() + core::WholeBytes(*storage.row, first),
                    core::WholeBytes(*storage.row, n));
  } else if (storage.unpack != nullptr) {
    storage.unpack(packed.data(), first, static_cast<std::size_t>(n), codes.data());
  } else {
    for (std::uint64_t i = 0; i < n; ++i) {
      codes[static_cast<std::size_t>(i)] =
          static_cast<std::byte>(detail::LoadCode(packed.data(), first + i, storage.row->bits));
    }
  }
  return Status();
}

Status Pack(DataType type, std::span<const std::byte> codes, std::span<std::byte> packed,
            std::uint64_t first, std::uint64_t n, Target target) {
  core::Storage storage;
  const StatusCode status = core::Check(type, packed.data(), packed.size(), first, codes.data(),
                                        codes.size(), n, target, &storage);
  if (status != StatusCode::kOk || n == 0) return Status(status);
  if (!storage.row->is_packed()) {
    core::MoveBytes(packed.data() + core::WholeBytes(*storage.row, first), codes.data(),
                    core::WholeBytes(*storage.row, n));
    return Status();
  }
  const auto mask = static_cast<std::byte>(detail::LowMask(storage.row->bits));
  std::byte block[core::kBlock];  // the lanes want the bits above the type's to be zero
  for (std::uint64_t done = 0; done < n; done += core::kBlock) {
    const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(n - done, core::kBlock));
    const std::byte* const from = codes.data() + done;
    for (std::size_t i = 0; i < some; ++i) block[i] = from[i] & mask;
    if (storage.pack != nullptr) {
      storage.pack(block, some, packed.data(), first + done);
      continue;
    }
    for (std::size_t i = 0; i < some; ++i) {
      detail::StoreCode(packed.data(), first + done + i, storage.row->bits,
                        std::to_integer<std::uint64_t>(block[i]));
    }
  }
  return Status();
}

}  // namespace TENSORCAST_ABI
}  // namespace tensorcast
