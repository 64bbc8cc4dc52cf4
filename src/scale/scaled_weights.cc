// Gathers what serves each weight, then asks for the readings and holds them against the
// configuration.
//
// SPDX-License-Identifier: Apache-2.0
#include "scale/scaled_weights.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "files/error.h"
#include "json/ordered_json.h"
#include "scale/missing_parts.h"
#include "scale/packed_tensors.h"
#include "scale/stray_parts.h"

namespace tensorcast::scale {
namespace {

using core::ErrorKind;
using formats::TensorInfo;

constexpr const char* kAllFits = "; names, types and shapes fit";

class Finder {
 public:
  Finder(const formats::TensorReader& reader, const std::string& path, const ScaleCompanions& found,
         QuantizationConfig config)
      : reader_(reader),
        tensors_(reader.contents().tensors),
        found_(found),
        config_(std::move(config)),
        of_metadata_(ConfigOfMetadata()),
        described_(DescribedLayers(reader.contents())),
        missing_(tensors_, path, config_) {}

  ScaledWeights Find() {
    std::map<std::size_t, std::vector<const Companion*>> served;
    for (const Companion& one : found_.companions) {
      if (one.served && one.row != nullptr) served[*one.served].push_back(&one);
    }
    for (const Misfit& misfit : found_.misfits) {
      served.erase(misfit.tensor);
      Refuse(misfit.tensor, ErrorKind::kContents, WhyMisfit(misfit));
      // Words of several codes are nothing without scales.
      const Dialect* const dialect = misfit.row->dialect;
      if (dialect != nullptr && dialect->read_packed != nullptr) {
        result_.unread.back().remedy = Remedy::kKeepPacked;
      }
    }
    for (const auto& [codes, companions] : served) Read(codes, companions);
    ReadLone(served);
    RefuseMissing();
    RefuseTakenNames();
    RefuseStray();
    RefuseDescribed();
    if (config_.is_foreign) LeaveToMethod();
    ServeOpaque();
    const auto by_tensor = [](const auto& a, const auto& b) { return a.tensor < b.tensor; };
    std::stable_sort(result_.unread.begin(), result_.unread.end(), by_tensor);
    std::sort(result_.opaque.begin(), result_.opaque.end(), by_tensor);
    result_.config = config_;
    return std::move(result_);
  }

 private:
  void Refuse(std::size_t tensor, ErrorKind kind, std::string why) {
    result_.unread.push_back({tensor, kind, std::move(why)});
  }

  std::string WhyMisfit(const Misfit& misfit) const {
    const TensorInfo& codes = tensors_[misfit.tensor];
    const TensorInfo& companion = tensors_[misfit.companion];
    if (companion.elements > 0 && !CompanionTypeFits(*misfit.row, companion)) {
      const CompanionRole role = misfit.row->role;
      const std::string what =
          role == CompanionRole::kOrder ? "group indices" : std::string(RoleText(role)) + "s";
      const bool is_integer = role == CompanionRole::kOrder || role == CompanionRole::kShape;
      return words::EscapeName(companion.name) + ", the " + what + " of " +
             words::EscapeName(codes.name) + ", has the type " +
             std::string(TypeName(companion.type)) + ", and " + what + " are " +
             (is_integer ? "integers" : "floats");
    }
    return ShapedName(codes) + " and " + ShapedName(companion) + " fit no layout of scaled weights";
  }

  const TensorInfo* Info(std::optional<std::size_t> i) const { return i ? &tensors_[*i] : nullptr; }

  // One weight and what serves it.
  void Read(std::size_t codes, const std::vector<const Companion*>& companions) {
    std::string_view writer;
    for (const Companion* one : companions) {
      if (writer.empty()) writer = one->row->opaque;
    }
    if (!writer.empty()) {
      result_.opaque.push_back({codes, std::string(writer)});
      for (const Companion* one : companions) {
        result_.opaque.push_back({one->tensor, std::string(writer)});
      }
      return;
    }
    if (ReadPacked(codes, companions)) return;
    ScaledWeight weight;
    weight.codes = codes;
    std::vector<std::size_t> scales;
    for (const Companion* one : companions) {
      weight.companions.push_back(one->tensor);
      switch (one->row->role) {
        case CompanionRole::kScale: scales.push_back(one->tensor); break;
        case CompanionRole::kSecondScale: weight.global = one->tensor; break;
        case CompanionRole::kZeroPoint: weight.zero_point = one->tensor; break;
        case CompanionRole::kActivationScale:
        case CompanionRole::kOrder:
        case CompanionRole::kShape:
        case CompanionRole::kCodeMap:
        case CompanionRole::kState: break;
      }
    }
    if (scales.empty()) return;
    if (scales.size() > 1) {
      Refuse(codes, ErrorKind::kContents,
             words::EscapeName(tensors_[codes].name) + " has two scales, " +
                 words::EscapeName(tensors_[scales[0]].name) + " and " +
                 words::EscapeName(tensors_[scales[1]].name));
      return;
    }
    weight.scale = scales.front();
    for (const Companion* one : companions) {
      if (const std::string why = WhyNot(*one); !why.empty()) {
        Refuse(codes, ErrorKind::kUnsupported,
               words::EscapeName(tensors_[codes].name) + " has " +
                   words::EscapeName(tensors_[one->tensor].name) + ", " + why);
        return;
      }
    }
    if (!described_.is_null() && !described_.is_object()) {
      Refuse(codes, ErrorKind::kUnsupported,
             words::EscapeName(tensors_[codes].name) + " is in " + of_metadata_.file +
                 ", which cannot be read");
      return;
    }
    QuantizationConfig own;
    if (HasMark(companions)) {
      own = of_metadata_;
      own.file = kLayerMark.substr(1);
      return Choose(std::move(weight), own);
    }
    Choose(std::move(weight),
           DescriptionOf(tensors_[codes].name) != nullptr ? of_metadata_ : config_);
  }

  // The dialects that may decode a weight: that of the configuration where it is among them.
  std::vector<const Dialect*> PackersOf(std::size_t codes,
                                        const std::vector<const Companion*>& companions) const {
    std::vector<const Dialect*> packers;
    for (const Dialect* const dialect : Dialects()) {
      const auto is_its = [&](const Companion* one) {
        return std::ranges::any_of(dialect->names, [&](const CompanionName& row) {
          return row.tensor == one->row->tensor && row.companion == one->row->companion;
        });
      };
      if (dialect->read_packed != nullptr &&
          (std::ranges::any_of(companions, is_its) ||
           (dialect->holds_codes != nullptr && dialect->holds_codes(tensors_[codes])))) {
        packers.push_back(dialect);
      }
    }
    if (std::ranges::count(packers, config_.dialect) != 0) return {config_.dialect};
    return packers;
  }

  // Whether it is one that decodes itself, read or not.
  bool ReadPacked(std::size_t codes, const std::vector<const Companion*>& companions) {
    const bool is_described = IsDescribed(codes, companions);
    if (config_.is_foreign && !is_described) return false;
    if (is_described && HasScaleElsewhere(codes)) return true;
    std::vector<std::size_t> asked;
    const PackedTensors tensors = {
        reader_, config_, codes, companions, DescriptionOf(tensors_[codes].name), &asked};
    PackedReading found;
    std::vector<std::size_t> used;
    const Dialect* dialect = nullptr;
    for (const Dialect* const one :
         is_described ? std::vector{of_metadata_.dialect} : PackersOf(codes, companions)) {
      asked.clear();
      PackedReading reading = one->read_packed(tensors);
      if (!reading.Fits()) continue;
      if (dialect != nullptr && found.weight != nullptr && reading.weight != nullptr) {
        Refuse(codes, ErrorKind::kContents,
               ShapedName(tensors_[codes]) + " may be " + std::string(dialect->name) + "'s or " +
                   std::string(one->name) + "'s; config.json beside it can say which");
        return true;
      }
      if (dialect != nullptr && (found.weight != nullptr || reading.weight == nullptr)) continue;
      found = std::move(reading);
      used = asked;
      dialect = one;
    }
    if (dialect == nullptr) return false;
    if (found.opaque.empty() && IsTornApart(codes)) return true;
    if (found.weight == nullptr) {
      RefusePacked(codes, companions, found);
      return true;
    }
    if (const Companion* const other = UnusedPart(companions, used); other != nullptr) {
      Refuse(codes, ErrorKind::kContents,
             ShapedName(tensors_[codes]) + " has a " + std::string(RoleText(other->row->role)) +
                 ", " + words::EscapeName(tensors_[other->tensor].name) + ", that no weight of " +
                 std::string(dialect->name) + " has");
      result_.unread.back().remedy = Remedy::kKeepPacked;
      return true;
    }
    ScaledWeight& weight = result_.weights.emplace_back();
    weight.codes = weight.scale = codes;
    for (const Companion* one : companions) {
      weight.companions.push_back(one->tensor);
      if (one->row->role == CompanionRole::kScale) weight.scale = one->tensor;
    }
    weight.name = weight.reading.name = found.name;
    weight.shape = weight.reading.shape = std::move(found.shape);
    weight.reading.dialect = dialect;
    weight.reading.packed = std::move(found.weight);
    // What a configuration of another's weights says is no evidence.
    const bool is_said = config_.dialect == nullptr || config_.dialect == dialect;
    weight.evidence = !found.said_by.empty() ? found.said_by + " says " + found.said + kAllFits
                      : is_said              ? EvidenceText(config_, found.said)
                                             : EvidenceText({}, {});
    return true;
  }

  // A part of a weight's values that its reader did not look at; or null.
  static const Companion* UnusedPart(const std::vector<const Companion*>& companions,
                                     const std::vector<std::size_t>& used) {
    constexpr CompanionRole kParts[] = {CompanionRole::kScale, CompanionRole::kSecondScale,
                                        CompanionRole::kZeroPoint, CompanionRole::kOrder,
                                        CompanionRole::kCodeMap};
    const auto unused = std::ranges::find_if(companions, [&](const Companion* one) {
      return std::ranges::count(kParts, one->row->role) != 0 &&
             std::ranges::count(used, one->tensor) == 0;
    });
    return unused != companions.end() ? *unused : nullptr;
  }

  void RefusePacked(std::size_t codes, const std::vector<const Companion*>& companions,
                    const PackedReading& reading) {
    if (reading.opaque.empty()) {
      Refuse(codes, reading.kind, ShapedName(tensors_[codes]) + " " + reading.why_not);
      result_.unread.back().remedy = Remedy::kKeepPacked;
      return;
    }
    result_.opaque.push_back({codes, reading.opaque});
    for (const Companion* one : companions) result_.opaque.push_back({one->tensor, reading.opaque});
  }

  // Weights whose scales stand among their codes, and those that are described and have none.
  void ReadLone(const std::map<std::size_t, std::vector<const Companion*>>& served) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const auto holds = [&](const Dialect* one) {
        return one->holds_codes != nullptr && one->holds_codes(tensors_[i]);
      };
      if (served.contains(i)) continue;
      if (std::ranges::any_of(Dialects(), holds) || LacksScales(i)) ReadPacked(i, {});
    }
    std::ranges::sort(result_.weights, {}, &ScaledWeight::codes);
  }

  static std::string LayerOf(const std::string& name) { return name.substr(0, name.rfind('.')); }
  // What the metadata says of a tensor's layer; null: nothing.
  const json::OrderedJson* DescriptionOf(const std::string& name) const {
    const bool is_there = described_.is_object() && described_.contains(LayerOf(name));
    return is_there ? &described_[LayerOf(name)] : nullptr;
  }
  static bool HasMark(const std::vector<const Companion*>& companions) {
    return std::ranges::any_of(
        companions, [](const Companion* one) { return one->row->companion == kLayerMark; });
  }
  bool IsDescribed(std::size_t codes, const std::vector<const Companion*>& companions) const {
    return DescriptionOf(tensors_[codes].name) != nullptr || HasMark(companions);
  }
  // Whether its scale stands in another file of the checkpoint.
  bool HasScaleElsewhere(std::size_t codes) const {
    const auto found = std::ranges::lower_bound(found_.scaled, codes, {}, &ScaledTensor::tensor);
    return found != found_.scaled.end() && found->tensor == codes && !found->file.empty();
  }
  // Codes that the metadata describes, alone.
  bool LacksScales(std::size_t tensor) const {
    const TensorInfo& info = tensors_[tensor];
    const TypeInfo* const type = FindType(info.type);
    return type != nullptr && type->bits <= 8 && info.elements > 0 &&
           info.name.ends_with(".weight") && DescriptionOf(info.name) != nullptr;
  }
  void RefuseMissing() {
    std::unordered_set<std::size_t> settled;
    for (const ScaledWeight& one : result_.weights) settled.insert(one.codes);
    for (const UnreadWeight& one : result_.unread) settled.insert(one.tensor);
    for (const OpaqueTensor& one : result_.opaque) settled.insert(one.tensor);
    for (const Companion& one : found_.companions) {
      if (!one.is_of_layer) settled.insert(one.tensor);
    }
    std::ranges::move(missing_.Find(settled), std::back_inserter(result_.unread));
  }
  bool IsTornApart(std::size_t codes) {
    std::optional<UnreadWeight> torn = missing_.TornApart(codes);
    if (!torn) return false;
    result_.unread.push_back(*std::move(torn));
    return true;
  }

  // What they say of a layer that is read, as a configuration would.
  static QuantizationConfig ConfigOfMetadata() {
    QuantizationConfig config;
    const auto all = Dialects();
    config.dialect = *std::ranges::find(all, kMetadataMark, &Dialect::metadata_key);
    config.file = "__metadata__[\"" + std::string(kMetadataMark) + "\"]";
    config.method = config.dialect->layout;
    config.schemes.emplace_back().bits = 8;
    return config;
  }

  // Why a companion keeps its weight from being read; empty: it does not.
  std::string WhyNot(const Companion& one) const {
    if (!one.row->why_not.empty()) return std::string(one.row->why_not);
    if (one.row->role == CompanionRole::kOrder) {
      return "which reorders its groups; that is not done here";
    }
    return {};
  }

  void Choose(ScaledWeight weight, const QuantizationConfig& config) {
    const TensorInfo& codes = tensors_[weight.codes];
    const TensorInfo& scale = tensors_[weight.scale];
    const WeightTensors tensors = {&codes, &scale, Info(weight.global), Info(weight.zero_point)};
    std::vector<Reading> readings = ReadingsOf(tensors, config);
    if (IsTornApart(weight.codes)) return;
    if (readings.empty() || !SmallOnesFit(weight)) {
      Refuse(weight.codes, ErrorKind::kContents,
             ShapedName(codes) + " (" + std::string(TypeName(codes.type)) + ") and " +
                 ShapedName(scale) + " (" + std::string(TypeName(scale.type)) +
                 ") fit no layout of scaled weights");
      return;
    }
    const Reading by_shape = readings.front();
    std::erase_if(readings, [&](const Reading& one) { return !Allows(config, one); });
    if (readings.empty()) {
      Refuse(weight.codes, ErrorKind::kContents,
             ShapedName(codes) + " with " + ShapedName(scale) + " is " +
                 std::string(by_shape.Name()) + ", " + by_shape.PartitionText() + ", and " +
                 config.file + " says " + SchemeText(config, by_shape));
      return;
    }
    const auto is_shifted = [](const WeightScheme& one) {
      return one.is_integer && !one.is_symmetric;
    };
    if (!weight.zero_point && AllSay(config, readings, is_shifted)) {
      Refuse(weight.codes, ErrorKind::kContents,
             ShapedName(codes) + " with " + ShapedName(scale) + " has no zero points, and " +
                 config.file + " says that its integers are not symmetric");
      return;
    }
    // One that has it is not read either.
    if (scale.elements > 1 &&
        AllSay(config, readings, [](const WeightScheme& one) { return one.is_ordered; })) {
      Refuse(weight.codes, ErrorKind::kContents,
             ShapedName(codes) + " with " + ShapedName(scale) +
                 " has no order of its groups, which " + config.file +
                 " says it has (\"actorder\")");
      return;
    }
    // The dialect that the configuration names knows its own tensors.
    const auto is_named = [&](const Reading& one) { return one.dialect == config.dialect; };
    if (std::ranges::any_of(readings, is_named)) {
      std::erase_if(readings, [&](const Reading& one) { return !is_named(one); });
    }
    if (readings.size() > 1) {
      Refuse(weight.codes, ErrorKind::kContents,
             ShapedName(codes) + " with " + ShapedName(scale) + " may be " +
                 std::string(readings[0].Name()) + ", " + readings[0].PartitionText() + ", or " +
                 std::string(readings[1].Name()) + ", " + readings[1].PartitionText() +
                 "; config.json beside it can say which");
      return;
    }
    weight.reading = std::move(readings.front());
    const Layout& layout = *weight.reading.layout;
    weight.name = weight.reading.name;
    weight.shape = weight.reading.shape;
    if (layout.is_transposed) std::swap(weight.shape.end()[-1], weight.shape.end()[-2]);
    weight.evidence = EvidenceOf(config, weight.reading);
    result_.weights.push_back(std::move(weight));
  }

  // Whether all that the configuration says of such a weight says so.
  static bool AllSay(const QuantizationConfig& config, std::span<const Reading> readings,
                     bool (*says)(const WeightScheme&)) {
    bool any = false;
    for (const WeightScheme& scheme : config.schemes) {
      const auto is_its = [&](const Reading& one) { return Allows(scheme, one); };
      if (!std::ranges::any_of(readings, is_its)) continue;
      if (!says(scheme)) return false;
      any = true;
    }
    return any;
  }

  // A global scale is one float32, and there are as many zero points as scales.
  bool SmallOnesFit(const ScaledWeight& weight) const {
    const TensorInfo* const global = Info(weight.global);
    const TensorInfo* const zero = Info(weight.zero_point);
    return (global == nullptr || (global->elements == 1 && global->type == DataType::kFloat32)) &&
           (zero == nullptr || (zero->elements == tensors_[weight.scale].elements &&
                                zero->type == tensors_[weight.codes].type));
  }

  static std::string EvidenceOf(const QuantizationConfig& config, const Reading& reading) {
    if (config.file.empty()) return "names, types and shapes fit; no configuration says more";
    std::string said;
    for (const WeightScheme& scheme : config.schemes) {
      QuantizationConfig one;
      one.is_complete = true;
      one.schemes = {scheme};
      if (Allows(one, reading)) {
        said = scheme.Text();
        break;
      }
    }
    return EvidenceText(config, said);
  }

  static std::string EvidenceText(const QuantizationConfig& config, const std::string& said) {
    if (config.file.empty()) {
      return said.empty() ? "names, types and shapes fit; no configuration says more" : said;
    }
    const std::string method =
        config.method.empty() ? std::string("a quantization") : words::Quoted(config.method);
    return config.file + " says " + method + (said.empty() ? "" : ", " + said) + kAllFits;
  }

  // What stands beside them, or describes them, under a name that makes another weight of them.
  void RefuseStray() {
    std::vector<UnreadWeight> refused = FindStrayParts(tensors_, described_, result_.weights);
    std::unordered_set<std::size_t> codes;
    for (UnreadWeight& one : refused) {
      codes.insert(one.tensor);
      result_.unread.push_back(std::move(one));
    }
    std::erase_if(result_.weights,
                  [&](const ScaledWeight& weight) { return codes.contains(weight.codes); });
  }

  // What the configuration says of them keeps all from being read.
  void RefuseDescribed() {
    if (config_.refused.empty()) return;
    for (const ScaledWeight& weight : result_.weights) {
      result_.unread.push_back({weight.codes, ErrorKind::kUnsupported,
                                ShapedName(tensors_[weight.codes]) + " " + config_.refused,
                                Remedy::kKeepPacked});
    }
    result_.weights.clear();
  }

  // The plain weight's name must be free.
  void RefuseTakenNames() {
    std::unordered_set<std::string_view> wanted;
    for (const ScaledWeight& weight : result_.weights) {
      if (weight.name != tensors_[weight.codes].name) wanted.insert(weight.name);
    }
    if (wanted.empty()) return;
    std::unordered_set<std::string_view> taken;
    for (const TensorInfo& info : tensors_) {
      if (wanted.contains(info.name)) taken.insert(info.name);
    }
    std::erase_if(result_.weights, [&](const ScaledWeight& weight) {
      if (weight.name == tensors_[weight.codes].name || !taken.contains(weight.name)) return false;
      Refuse(weight.codes, ErrorKind::kContents,
             words::EscapeName(tensors_[weight.codes].name) + " is the weight " +
                 words::EscapeName(weight.name) + ", and a tensor of that name is there too");
      return true;
    });
  }

  // If the method is not read here, integers that nothing else explains are its weights.
  void LeaveToMethod() {
    const std::string method = words::Quoted(config_.method);
    // Names of tensors are those of several methods: of one that they do not tell, its own.
    if (config_.dialect == nullptr || config_.dialect->names.empty()) {
      for (OpaqueTensor& one : result_.opaque) one.writer = method;
    }
    const auto is_its = [&](std::size_t tensor) {
      const TypeInfo* const type = FindType(tensors_[tensor].type);
      return type != nullptr && type->is_integer();
    };
    for (const UnreadWeight& one : result_.unread) {
      if (is_its(one.tensor)) result_.opaque.push_back({one.tensor, method});
    }
    std::erase_if(result_.unread, [&](const UnreadWeight& one) { return is_its(one.tensor); });
    const std::unordered_set<std::size_t> explained = Explained();
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (is_its(i) && tensors_[i].elements > 1 && !IsBuffer(tensors_[i].name) &&
          !explained.contains(i)) {
        result_.opaque.push_back({i, method});
      }
    }
  }

  std::unordered_set<std::size_t> Explained() const {
    std::unordered_set<std::size_t> explained;
    for (const ScaledWeight& one : result_.weights) explained.insert(one.codes);
    for (const OpaqueTensor& one : result_.opaque) explained.insert(one.tensor);
    for (const Companion& one : found_.companions) explained.insert(one.tensor);
    for (const ScaledTensor& one : found_.scaled) explained.insert(one.tensor);
    return explained;
  }

  // What else stands in a layer whose weights are not read serves these, whatever it is called.
  void ServeOpaque() {
    if (result_.opaque.empty()) return;
    const std::unordered_set<std::size_t> explained = Explained();
    std::unordered_map<std::string, std::size_t> layers;
    for (const OpaqueTensor& one : result_.opaque) {
      layers.try_emplace(LayerOf(tensors_[one.tensor].name), one.tensor);
    }
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const std::string& name = tensors_[i].name;
      if (explained.contains(i) || name.ends_with(".bias")) continue;
      for (std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0;
           dot = name.rfind('.', dot - 1)) {
        const auto layer = layers.find(name.substr(0, dot));
        if (layer == layers.end()) continue;
        result_.companions.push_back({i, RoleText(CompanionRole::kState),
                                      tensors_[layer->second].name, nullptr, layer->second});
        break;
      }
    }
  }

  // Integers of plain models.
  static bool IsBuffer(std::string_view name) {
    constexpr std::string_view kBuffers[] = {"_ids", "_index", "_mask", "_tracked"};
    return std::ranges::any_of(kBuffers, [&](auto ending) { return name.ends_with(ending); });
  }

  const formats::TensorReader& reader_;
  const std::vector<TensorInfo>& tensors_;
  const ScaleCompanions& found_;
  const QuantizationConfig config_;
  const QuantizationConfig of_metadata_;
  const json::OrderedJson described_;
  MissingParts missing_;
  ScaledWeights result_;
};

}  // namespace

std::string ScaledWeight::LayoutText() const {
  return std::string(reading.Name()) + " (" + std::string(reading.Writer()) + ")";
}

ScaledWeights FindScaledWeights(const formats::TensorReader& reader, const std::string& path,
                                const ScaleCompanions& companions, QuantizationConfig config) {
  return Finder(reader, path, companions, std::move(config)).Find();
}

}  // namespace tensorcast::scale
