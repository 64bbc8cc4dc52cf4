// Making tables of codes and keeping them.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/code_table.h"

#include <atomic>
#include <new>

#include "core/kernels.h"

namespace tensorcast::core {
namespace {

// Every option that a numeric cast looks at, as a number below kOptionSets.
constexpr std::size_t kOptionSets = 2 * 3 * 2 * 2 * 2;
std::size_t OptionSet(const CastOptions& options) {
  std::size_t set = options.saturate ? 1 : 0;
  set = set * 3 + static_cast<std::size_t>(options.round_mode);
  set = set * 2 + static_cast<std::size_t>(options.integer_overflow);
  set = set * 2 + static_cast<std::size_t>(options.fnuz_infinity);
  return set * 2 + static_cast<std::size_t>(options.finite_only_nan);
}

// Never freed: plans point to them, also those of threads that outlive main.
std::atomic<const CodeTable*> made[kRows][kRows][kOptionSets];

TableShape ShapeOf(const std::uint64_t* results, int bits) {
  if (bits < 32) return TableShape::kWhole;
  bool upper = true, repeats_sign = bits == 64;
  for (std::size_t code = 0; code < 256; ++code) {
    const std::uint64_t low = results[code] & detail::LowMask(32);
    upper = upper && (bits == 64 ? low : results[code] & 0xFFFF) == 0;
    const auto extended = static_cast<std::int64_t>(static_cast<std::int32_t>(low));
    repeats_sign = repeats_sign && results[code] == static_cast<std::uint64_t>(extended);
  }
  return upper ? TableShape::kUpper : repeats_sign ? TableShape::kSigned : TableShape::kWhole;
}

void Fill(const TypeInfo& from, const TypeInfo& to, const CastOptions& options, CodeTable* table) {
  std::uint64_t results[256];
  const std::uint64_t mask = detail::LowMask(from.bits);
  for (std::uint64_t code = 0; code < 256; ++code) {
    results[code] = code > mask ? results[code & mask] : detail::CastCode(from, to, code, options);
  }
  table->shape = ShapeOf(results, to.bits);
  const std::size_t width = to.bits <= 8 ? 1 : static_cast<std::size_t>(to.bits) / 8;
  const std::size_t planes = table->shape == TableShape::kWhole ? width : (width + 1) / 2;
  const std::size_t first = table->shape == TableShape::kUpper ? width - planes : 0;
  table->planes = static_cast<std::uint8_t>(planes);
  for (std::size_t plane = 0; plane < planes; ++plane) {
    for (std::size_t code = 0; code < 256; ++code) {
      table->bytes[plane][code] = static_cast<std::uint8_t>(results[code] >> (8 * (first + plane)));
    }
  }
}

}  // namespace

const CodeTable* FindCodeTable(const TypeInfo& from, const TypeInfo& to, const CastOptions& options,
                               bool make) noexcept {
  std::atomic<const CodeTable*>& place =
      made[static_cast<std::size_t>(detail::RowIndex(from.type))]
          [static_cast<std::size_t>(detail::RowIndex(to.type))][OptionSet(options)];
  const CodeTable* found = place.load(std::memory_order_acquire);
  if (found != nullptr || !make) return found;
  auto* table = new (std::nothrow) CodeTable;
  if (table == nullptr) return nullptr;
  Fill(from, to, options, table);
  if (place.compare_exchange_strong(found, table, std::memory_order_acq_rel)) return table;
  delete table;  // another thread was first
  return found;
}

}  // namespace tensorcast::core
