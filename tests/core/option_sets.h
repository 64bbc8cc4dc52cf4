// Which options have a say in a pair, read off the two rows, and what they are to the oracle.
//
// SPDX-License-Identifier: Apache-2.0
#ifndef TENSORCAST_TESTS_CORE_OPTION_SETS_H_
#define TENSORCAST_TESTS_CORE_OPTION_SETS_H_

#include <string>
#include <vector>

#include "oracle/cast.h"
#include "tensorcast/tensorcast.hpp"

namespace tensorcast::testing {

// Every combination of the options that apply to the pair, the defaults first; the others stay at
// their defaults.
std::vector<CastOptions> MeaningfulOptions(const TypeInfo& from, const TypeInfo& to);

// MeaningfulOptions, and one more set: the defaults with every option that does not apply changed,
// which must change nothing.
std::vector<CastOptions> OptionSets(const TypeInfo& from, const TypeInfo& to);

// The defaults with one option outside its enum, for each that is one.
std::vector<CastOptions> InvalidOptions();

oracle::Options ToOracle(const CastOptions& options);
inline const oracle::Row& OracleRow(DataType type) { return oracle::RowOf(static_cast<int>(type)); }
std::string Describe(const CastOptions& options);

// The fixed-width rows, in the table's order.
std::vector<TypeInfo> FixedWidthTypes();
std::vector<DataType> FixedWidthDataTypes();

}  // namespace tensorcast::testing

#endif  // TENSORCAST_TESTS_CORE_OPTION_SETS_H_
