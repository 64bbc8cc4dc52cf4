// Making tables of what codes lose, and what a loss meter takes from counts of codes.
//
// SPDX-License-Identifier: Apache-2.0
#include "core/code_loss.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <new>

#include "core/kernels.h"
#include "core/option_set.h"

namespace tensorcast::core {
namespace {

// Never freed, as the tables of code_table.cc.
std::atomic<const CodeLoss*> measured[kRows][kRows][kOptionSets];

void SetSignless(CodeBytes* bytes) {
  bytes->is_signless = std::equal(bytes->of_code, bytes->of_code + 128, bytes->of_code + 128);
}

// The exponent of a double's last digit that is not zero.
int LastDigit(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  const auto digits = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
  return exponent - 53 + std::countr_zero(digits);
}

// False where some have more bits than sums can hold.
template <class Term>
bool FillTerms(const ElementLoss* elements, const Term& term_of, CodeTerms* terms) {
  constexpr int kNone = 4096;
  terms->unit = kNone;
  for (std::size_t code = 0; code < 256; ++code) {
    const double term = term_of(elements[code]);
    if (!std::isfinite(term)) return false;
    if (term != 0) terms->unit = std::min(terms->unit, LastDigit(term));
  }
  if (terms->unit == kNone) {
    terms->unit = 0;
    return true;
  }
  std::uint64_t most = 0;
  for (std::size_t code = 0; code < 256; ++code) {
    const double number = std::ldexp(term_of(elements[code]), -terms->unit);
    if (!(number < detail::PowerOfTwo(kTermBits))) return false;
    terms->of_code[code] = static_cast<std::uint64_t>(number);
    most = std::max(most, terms->of_code[code]);
  }
  terms->planes = static_cast<std::size_t>(std::bit_width(most) + 7) / 8;
  for (std::size_t plane = 0; plane < terms->planes; ++plane) {
    for (std::size_t code = 0; code < 256; ++code) {
      terms->plane[plane].of_code[code] =
          static_cast<std::uint8_t>(terms->of_code[code] >> 8 * plane);
    }
    SetSignless(&terms->plane[plane]);
  }
  return true;
}

CodeLoss::Group GroupOf(const ElementLoss& element) {
  return {element.kinds, element.finite, element.compared,
          element.compared && element.magnitude != 0};
}

bool FillGroups(CodeLoss* table) {
  for (std::size_t code = 0; code < 256; ++code) {
    const CodeLoss::Group group = GroupOf(table->elements[code]);
    std::size_t place = 0;
    while (place < table->group_count && !(table->groups[place] == group)) ++place;
    if (place == CodeLoss::kMostGroups) return false;
    if (place == table->group_count) table->groups[table->group_count++] = group;
    table->group_of.of_code[code] = static_cast<std::uint8_t>(place);
  }
  SetSignless(&table->group_of);
  return true;
}

void FillLoss(const TypeInfo& from, const TypeInfo& to, const CastOptions& options,
              CodeLoss* table) {
  const LossParams params = MakeLossParams(from, to, options);
  const std::uint64_t mask = detail::LowMask(from.bits);
  for (std::uint64_t code = 0; code < 256; ++code) {
    const LossExample codes = {0, code & mask, detail::CastCode(from, to, code & mask, options)};
    table->elements[code] = MeasureElement(codes, from, to, params, nullptr);
  }
  const auto square = [](const ElementLoss& element) {
    return element.compared ? element.Square() : 0;
  };
  const auto squared_error = [](const ElementLoss& element) {
    return element.compared ? element.SquaredError() : 0;
  };
  table->is_usable = FillGroups(table) && FillTerms(table->elements, square, &table->squares) &&
                     FillTerms(table->elements, squared_error, &table->errors);
}

// The sum of numbers below 2^64 and of one unit, without rounding.
void AddTo(SumOfMagnitudes* sum, std::uint64_t number, int unit) {
  constexpr int kHalf = 32;
  sum->Add(std::ldexp(static_cast<double>(number >> kHalf), unit + kHalf));
  sum->Add(std::ldexp(static_cast<double>(number & detail::LowMask(kHalf)), unit));
}

}  // namespace

const CodeLoss* FindCodeLoss(const TypeInfo& from, const TypeInfo& to,
                             const CastOptions& options) noexcept {
  if (from.bits > 8) return nullptr;
  std::atomic<const CodeLoss*>& place =
      measured[static_cast<std::size_t>(detail::RowIndex(from.type))]
              [static_cast<std::size_t>(detail::RowIndex(to.type))][OptionSet(options)];
  const CodeLoss* found = place.load(std::memory_order_acquire);
  if (found == nullptr) {
    auto* table = new (std::nothrow) CodeLoss;
    if (table == nullptr) return nullptr;
    FillLoss(from, to, options, table);
    if (place.compare_exchange_strong(found, table, std::memory_order_acq_rel)) {
      found = table;
    } else {
      delete table;  // another thread was first
    }
  }
  return found->is_usable ? found : nullptr;
}

void FindNews(const CodeLoss& table, std::uint64_t index, const LossState& loss,
              std::uint8_t* news) {
  unsigned new_kinds = 0;
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    if (loss.MayBeFirst(kind, index)) new_kinds |= 1u << kind;
  }
  for (std::size_t code = 0; code < 256; ++code) {
    const ElementLoss& element = table.elements[code];
    bool is_new = (element.kinds & new_kinds) != 0;
    if (element.finite) {
      const double magnitude = element.magnitude;
      is_new =
          is_new || magnitude > loss.amax ||
          (magnitude != 0 && (loss.smallest_nonzero == 0 || magnitude < loss.smallest_nonzero));
    }
    if (element.compared) {
      is_new = is_new || IsNews(element.error, index, loss.max_abs_error, loss.max_abs_example);
    }
    if (element.compared && element.magnitude != 0) {
      is_new =
          is_new || IsNews(element.Relative(), index, loss.max_rel_error, loss.max_rel_example);
    }
    news[code] = is_new ? 1 : 0;
  }
}

void AddTotals(const CodeLoss& table, const CodeTotals& totals, std::size_t n, std::uint64_t index,
               LossState* loss) {
  for (std::size_t place = 0; place < table.group_count; ++place) {
    const std::uint64_t count = totals.of_group[place];
    const CodeLoss::Group& group = table.groups[place];
    for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
      if ((group.kinds >> kind & 1) != 0) loss->counts[kind] += count;
    }
    if (group.finite) loss->finite += count;
    if (group.compared) loss->compared += count;
    if (group.compared_nonzero) loss->compared_nonzero += count;
  }
  AddTo(&loss->squares, totals.squares, table.squares.unit);
  AddTo(&loss->errors, totals.errors, table.errors.unit);
  loss->elements += n;
  loss->next_index = index + n;
}

void AddCounts(const CodeLoss& table, const std::uint32_t* counts, const std::uint8_t* codes,
               std::size_t n, const LossView& view, std::uint64_t index, LossState* loss) {
  CodeTotals totals;
  unsigned kinds = 0;
  double largest_error = -1, largest_relative = -1;
  for (std::size_t code = 0; code < 256; ++code) {
    const std::uint64_t count = counts[code];
    if (count == 0) continue;
    const ElementLoss& element = table.elements[code];
    kinds |= element.kinds;
    totals.of_group[table.group_of.of_code[code]] += count;
    totals.squares += count * table.squares.of_code[code];
    totals.errors += count * table.errors.of_code[code];
    if (element.finite) {
      loss->amax = std::max(loss->amax, element.magnitude);
      double& smallest = loss->smallest_nonzero;
      if (element.magnitude != 0 && (smallest == 0 || element.magnitude < smallest)) {
        smallest = element.magnitude;
      }
    }
    if (!element.compared) continue;
    largest_error = std::max(largest_error, element.error);
    if (element.magnitude != 0) largest_relative = std::max(largest_relative, element.Relative());
  }
  const auto first_where = [&](const auto& holds) {
    std::size_t k = 0;
    while (k + 1 < n && !holds(table.elements[codes[k]])) ++k;
    return LossExample{index + k, codes[k],
                       detail::LoadCode(view.result, view.result_first + k, view.to->bits)};
  };
  for (std::size_t kind = 0; kind < kLossKinds; ++kind) {
    if ((kinds >> kind & 1) == 0) continue;
    if (!loss->MayBeFirst(kind, index)) continue;
    loss->TakeFirst(kind, first_where([kind](const ElementLoss& element) {
                      return element.IsOf(static_cast<Loss>(kind));
                    }));
  }
  if (largest_error >= 0) {
    TakeLarger(largest_error, index, &loss->max_abs_error, &loss->max_abs_example, [&] {
      return first_where([largest_error](const ElementLoss& element) {
        return element.compared && element.error == largest_error;
      });
    });
  }
  if (largest_relative >= 0) {
    TakeLarger(largest_relative, index, &loss->max_rel_error, &loss->max_rel_example, [&] {
      return first_where([largest_relative](const ElementLoss& element) {
        return element.compared && element.magnitude != 0 && element.Relative() == largest_relative;
      });
    });
  }
  AddTotals(table, totals, n, index, loss);
}

}  // namespace tensorcast::core
