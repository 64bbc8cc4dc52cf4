// What the page shows, as compact JSON in columns, deflated and in base64: no byte of a name stands
// in the page as it is, and 100,000 tensors take less than 3 MB. Figures have the digits that the
// page can show; the JSON and the table have all.
//
// SPDX-License-Identifier: Apache-2.0
#include "display/report_page.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <new>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

#include "display/exponent_histogram.h"
#include "display/quantities.h"
#include "display/run_report.h"
#include "tensorcast/version.h"

namespace tensorcast::tool {
namespace {

// More tensors than this have no histogram in the page but the worst of them.
constexpr std::size_t kMostHistograms = 5000;

std::string JsonOf(std::string_view text) { return json::Dumped(Json(text)); }

// Five digits; Inf as a number that is read as one.
std::string Figure(double value) {
  if (std::isnan(value)) return "\"?\"";
  if (std::isinf(value)) return value > 0 ? "1e999" : "-1e999";
  return fmt::format("{:.5g}", value);
}

// The page shows tenths.
std::string Decibel(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", std::round(value * 1000) / 1000)
                              : Figure(value);
}

// A list of JSON, which grows.
class JsonList {
 public:
  void Add(std::string_view json) {
    text_ += text_.empty() ? "[" : ",";
    text_ += json;
  }
  std::string Take() { return text_.empty() ? "[]" : std::move(text_) + "]"; }

 private:
  std::string text_;
};

// Words that many rows have: each once, and for each row which.
class WordColumn {
 public:
  void Add(const std::string& word) {
    const auto [place, is_new] = places_.try_emplace(word, places_.size());
    if (is_new) words_.Add(JsonOf(word));
    rows_.Add(fmt::format("{}", place->second));
  }
  std::string Take() {
    return fmt::format("{{\"words\":{},\"rows\":{}}}", words_.Take(), rows_.Take());
  }

 private:
  std::map<std::string, std::size_t> places_;
  JsonList words_, rows_;
};

// A column of figures, and whether there is one to be seen.
class FigureColumn {
 public:
  void Add(std::optional<double> value, bool is_decibel = false) {
    has_any_ = has_any_ || (value && (is_decibel || *value != 0));
    rows_.Add(!value ? "null" : is_decibel ? Decibel(*value) : Figure(*value));
  }
  bool HasAny() const { return has_any_; }
  std::string Take() { return rows_.Take(); }

 private:
  bool has_any_ = false;
  JsonList rows_;
};

struct LossColumn {
  std::string_view key;
  std::optional<double> (*figure)(const LossReport& loss);
  bool is_decibel = false;
};

template <Loss kind> std::optional<double> CountOf(const LossReport& loss) {
  return static_cast<double>(loss.count(kind));
}

constexpr LossColumn kLossColumns[] = {
    {"snr_db",
     [](const LossReport& loss) {
       // Infinite though something differs: squares left double's range.
       const bool is_unseen = std::isinf(loss.snr_db) && loss.max_abs_error > 0;
       return loss.compared == 0 ? std::optional<double>() : is_unseen ? std::nan("") : loss.snr_db;
     },
     true},
    {"to_limit", CountOf<Loss::kToLimit>},
    {"to_infinity", CountOf<Loss::kToInfinity>},
    {"to_nan", CountOf<Loss::kToNan>},
    {"nan_lost", CountOf<Loss::kNanLost>},
    {"wrapped", CountOf<Loss::kWrapped>},
    {"to_zero", CountOf<Loss::kToZero>},
    {"to_subnormal", CountOf<Loss::kToSubnormal>},
    {"max_abs_error",
     [](const LossReport& loss) {
       return loss.compared == 0 ? std::optional<double>() : loss.max_abs_error;
     }},
    {"rmse",
     [](const LossReport& loss) {
       return loss.compared == 0 ? std::optional<double>() : loss.rmse;
     }},
    {"amax",
     [](const LossReport& loss) { return loss.finite == 0 ? std::optional<double>() : loss.amax; }},
    {"smallest_nonzero",
     [](const LossReport& loss) {
       return loss.smallest_nonzero == 0 ? std::optional<double>() : loss.smallest_nonzero;
     }},
};

std::string SeriesJson(const RunReport& report, const ReportSeries& series) {
  JsonList states;
  WordColumn to, remarks;
  FigureColumn bytes, gained, different;
  std::vector<FigureColumn> figures(std::size(kLossColumns));
  const auto as_figure = [](const auto& value) {
    return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
  };
  for (std::size_t i = 0; i < report.rows; ++i) {
    const std::optional<ReportOutcome> outcome = series.outcome(i);
    states.Add(outcome ? fmt::format("{}", outcome->state) : "-1");
    const ReportOutcome one = outcome.value_or(ReportOutcome());
    to.Add(one.to);
    remarks.Add(one.remark);
    bytes.Add(as_figure(one.bytes));
    gained.Add(one.gain_db, true);
    different.Add(as_figure(one.different));
    for (std::size_t k = 0; k < figures.size(); ++k) {
      figures[k].Add(one.loss ? kLossColumns[k].figure(*one.loss) : std::nullopt,
                     kLossColumns[k].is_decibel);
    }
  }
  std::string json = fmt::format("{{\"title\":{},\"state\":{},\"to\":{},\"remark\":{}",
                                 JsonOf(series.title), states.Take(), to.Take(), remarks.Take());
  json += ",\"figures\":{";
  bool is_first = true;
  const auto add = [&](std::string_view key, FigureColumn& column) {
    if (!column.HasAny()) return;
    json += fmt::format("{}\"{}\":{}", is_first ? "" : ",", key, column.Take());
    is_first = false;
  };
  add("bytes_after", bytes);
  add("gain_over_plain_db", gained);
  add("different", different);
  for (std::size_t k = 0; k < figures.size(); ++k) add(kLossColumns[k].key, figures[k]);
  return json + "}}";
}

// The rows that have a histogram, in order: all, or the worst by what any series says.
std::vector<bool> HaveHistogram(const RunReport& report) {
  std::vector<bool> have(report.rows, report.rows <= kMostHistograms);
  if (report.rows <= kMostHistograms) return have;
  std::vector<std::pair<std::size_t, double>> worst(report.rows, {report.states.size(), INFINITY});
  for (std::size_t i = 0; i < report.rows; ++i) {
    for (const ReportSeries& series : report.series) {
      const std::optional<ReportOutcome> outcome = series.outcome(i);
      if (!outcome || !outcome->loss) continue;
      worst[i] = std::min(worst[i], {outcome->state, ComparableDecibel(*outcome->loss)});
    }
  }
  std::vector<std::uint32_t> order(report.rows);
  std::iota(order.begin(), order.end(), 0);
  std::nth_element(order.begin(), order.begin() + kMostHistograms, order.end(),
                   [&](std::uint32_t a, std::uint32_t b) {
                     return std::pair(worst[a], a) < std::pair(worst[b], b);
                   });
  for (std::size_t k = 0; k < kMostHistograms; ++k) have[order[k]] = true;
  return have;
}

std::string ExponentsOfRow(const convert::ExponentCounts* exponents) {
  if (exponents == nullptr || exponents->sampled == 0) return "null";
  JsonList list;
  for (const std::uint64_t n : {exponents->sampled, exponents->zeros, exponents->not_finite}) {
    list.Add(fmt::format("{}", n));
  }
  list.Add(fmt::format("{}", exponents->first));
  for (const std::uint64_t n : exponents->counts) list.Add(fmt::format("{}", n));
  return list.Take();
}

template <class Range, class Made> std::string ListOf(const Range& range, const Made& made) {
  JsonList list;
  for (const auto& one : range) list.Add(made(one));
  return list.Take();
}

std::string TextList(const std::vector<std::string>& texts) { return ListOf(texts, JsonOf); }

// Of a value below the half of the first a cast makes zero.
std::string LimitsJson(DataType type, bool is_scaled) {
  TypeLimits limits = LimitsOf(type);
  if (!is_scaled) limits.least_positive = 2 * convert::ZeroBelow(type);
  return fmt::format("[{},{},{}]", limits.least_positive, limits.least_normal, limits.greatest);
}

std::string HeadJson(const RunReport& report) {
  std::string json =
      fmt::format("\"version\":{},\"command\":{},\"from\":{},\"to\":{}", JsonOf(TENSORCAST_VERSION),
                  JsonOf(report.command), JsonOf(report.from), JsonOf(report.to));
  json += ",\"facts\":" + ListOf(report.facts, [](const ReportFact& fact) {
            return TextList({fact.label, fact.value, fact.remark});
          });
  json += ",\"notes\":" + ListOf(report.notes, [](const ReportNote& note) {
            return fmt::format("[{},{},{}]", static_cast<int>(note.tone), JsonOf(note.text),
                               JsonOf(note.command));
          });
  json += ",\"tables\":" + ListOf(report.tables, [](const ReportTable& table) {
            return fmt::format("{{\"title\":{},\"columns\":{},\"rows\":{}}}", JsonOf(table.title),
                               TextList(table.columns), ListOf(table.rows, TextList));
          });
  json += ",\"states\":" + ListOf(report.states, [](const ReportState& state) {
            return fmt::format("[{},{}]", JsonOf(state.name), static_cast<int>(state.tone));
          });
  json += ",\"targets\":" + ListOf(report.targets, [](const ReportTarget& target) {
            return fmt::format("[{},{},{}]", JsonOf(target.name), target.is_scaled ? 1 : 0,
                               LimitsJson(target.type, target.is_scaled));
          });
  // What else a tensor could become, for its histogram.
  return json + ",\"others\":" + ListOf(convert::kHistogramTypes, [](DataType type) {
           return fmt::format("[{},0,{}]", JsonOf(TypeName(type)), LimitsJson(type, false));
         });
}

std::string ReportJson(const RunReport& report) {
  const std::vector<bool> have_histogram = HaveHistogram(report);
  JsonList names, exponents;
  WordColumn types, shapes;
  FigureColumn elements, bytes;
  bool has_exponents = false;
  for (std::size_t i = 0; i < report.rows; ++i) {
    const ReportRow row = report.row(i);
    names.Add(JsonOf(words::Escape(row.name)));
    types.Add(row.type);
    shapes.Add(row.elements == 0 && row.shape.empty() ? "" : ExtentsText(row.shape));
    elements.Add(static_cast<double>(row.elements));
    bytes.Add(static_cast<double>(row.bytes));
    exponents.Add(have_histogram[i] ? ExponentsOfRow(row.exponents) : "null");
    has_exponents = has_exponents || (row.exponents != nullptr && row.exponents->sampled != 0);
  }
  const std::size_t shown = std::min(report.rows, kMostHistograms);
  return fmt::format(
      "{{{},\"names\":{},\"type\":{},\"shape\":{},\"elements\":{},\"bytes\":{},\"exponents\":{},"
      "\"histograms\":{},\"series\":{}}}",
      HeadJson(report), names.Take(), types.Take(), shapes.Take(), elements.Take(), bytes.Take(),
      has_exponents ? exponents.Take() : "null", shown,
      ListOf(report.series, [&](const ReportSeries& one) { return SeriesJson(report, one); }));
}

std::string Deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string packed(size, '\0');
  const int status =
      compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_DEFAULT_COMPRESSION);
  if (status != Z_OK) throw std::bad_alloc();
  packed.resize(size);
  return packed;
}

std::string Base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

}  // namespace

void PrintReportPage(const RunReport& report, const TakeText& print) {
  print(kPageHead);
  print(Base64(Deflated(ReportJson(report))));
  print(kPageTail);
}

}  // namespace tensorcast::tool
