// Plans: what becomes of which tensor and why, as JSON and back, hostile JSON; and runs of them,
// whole and in parts.
//
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <random>
#include <span>

#include "plan_files.h"
#include "tensorcast/convert.hpp"

namespace tensorcast::convert {
namespace {

TEST_F(Plans, SayWhatBecomesOfEachTensorAndWhy) {
  Request request;
  request.files = {
      {Make("a.npz",
            {io::Tensor("x", DataType::kFloat32, {2, 3}), io::Tensor("y", DataType::kFloat16, {4}),
             io::Tensor("i", DataType::kInt64, {5}), io::Tensor("z", DataType::kFloat64, {})}),
       Path("b.npz")}};
  request.to = DataType::kBfloat16;
  request.rules = {{"x", DataType::kFloat16}};
  request.excluded = {"z"};
  const ConversionPlan plan = PlanOf(request);
  ASSERT_EQ(plan.jobs(), 4u);
  ASSERT_EQ(plan.outputs(), 1u);
  EXPECT_EQ(plan.output(0), Path("b.npz"));
  const auto line = [&](std::size_t i) {
    const PlannedJob job = plan.job(i);
    return std::string(job.name) + " " + std::string(ActionName(job.action)) + " " +
           std::string(TypeName(job.from)) + " " + std::string(TypeName(job.to)) + " " +
           std::string(ReasonName(job.reason)) + " (" + std::string(job.text) + ") " +
           std::to_string(job.sources.at(0).elements);
  };
  EXPECT_EQ(line(0), "x cast float32 float16 rule (rule 'x=float16') 6");
  EXPECT_EQ(plan.job(0).rule, 0u);
  EXPECT_EQ(line(1), "y cast float16 bfloat16 asked (the request's type) 4");
  EXPECT_EQ(line(2), "i copy int64 int64 not_floating (not floating) 5");
  EXPECT_EQ(line(3), "z copy float64 float64 excluded (excluded) 1");
}

TEST_F(Plans, OfManyFilesAPatternHasToMatchInOne) {
  Request request;
  request.files = {{Make("a.npz", {io::Tensor("x", DataType::kFloat32, {2})}), Path("c.npz")},
                   {Make("b.npz", {io::Tensor("y", DataType::kFloat32, {2})}), Path("d.npz")}};
  request.rules = {{"y", DataType::kFloat16}};
  const ConversionPlan plan = PlanOf(request);
  ASSERT_EQ(plan.jobs(), 2u);
  EXPECT_EQ(plan.job(0).reason, Reason::kNoRule);
  EXPECT_EQ(plan.job(1).to, DataType::kFloat16);
  EXPECT_EQ(plan.job(1).output, 1u);
  request.rules.push_back({"nowhere", DataType::kFloat16});
  ConversionPlan none;
  std::string error;
  EXPECT_EQ(ConversionPlan::Make(request, {}, &none, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, "'nowhere' matches no tensor");
}

TEST_F(Plans, OfManyFilesARenameHasToMatchInOne) {
  Request request;
  request.files = {{Make("a.npz", {io::Tensor("x", DataType::kFloat32, {2})}), Path("c.npz")},
                   {Make("b.npz", {io::Tensor("m.y", DataType::kFloat32, {2}),
                                   io::Tensor("z", DataType::kFloat32, {})}),
                    Path("d.npz")}};
  request.renames = {{"m.*", "*"}, {"re:(.)", "\\1_\\1"}};
  const ConversionPlan plan = PlanOf(request);
  ASSERT_EQ(plan.jobs(), 3u);
  EXPECT_EQ(plan.job(0).written_as, "x_x");
  EXPECT_EQ(plan.job(1).name, "m.y");
  EXPECT_EQ(plan.job(1).written_as, "y");
  EXPECT_EQ(plan.job(2).written_as, "z_z");
  const auto refusal = [&](std::vector<RequestedRename> renames) {
    request.renames = std::move(renames);
    ConversionPlan none;
    std::string error;
    EXPECT_EQ(ConversionPlan::Make(request, {}, &none, &error).code(), StatusCode::kBadInput);
    return error;
  };
  EXPECT_EQ(refusal({{"nowhere", "x"}}), "'nowhere' matches no tensor");
  EXPECT_EQ(refusal({{"z", "m.y"}}), Path("b.npz") + ": m.y and z would both be written as m.y");
  EXPECT_EQ(refusal({{"x", "[", "file:7"}, {"*", "* *", "file:8"}}),
            "file:8: '* *' is not a name that '*' can give: '*' has no * number 2");
}

TEST_F(Plans, ARuleTakesNothingOnlyWhereItDoesInNoFile) {
  Request request;
  request.files = {{Make("a.npz", {io::Tensor("x", DataType::kFloat32, {2})}), Path("c.npz")},
                   {Make("b.npz", {io::Tensor("y", DataType::kFloat32, {2})}), Path("d.npz")}};
  request.rules = {{"y", DataType::kFloat16}, {"?", DataType::kBfloat16}, {"x", DataType::kInt8}};
  const ConversionPlan plan = PlanOf(request);
  ASSERT_EQ(plan.notes().size(), 1u);
  EXPECT_EQ(plan.notes()[0], "rule 'x=int8' takes no tensor: rules before it do");
}

// A file that the system refuses to read: to root only some of /sys are such. Empty: none is found.
std::filesystem::path UnreadableFile(const std::string& own) {
  if (geteuid() != 0) {
    io::WriteBytes(own, "{}");
    std::filesystem::permissions(own, std::filesystem::perms::none);
    return own;
  }
  std::error_code none;
  for (const auto& bus : std::filesystem::directory_iterator("/sys/bus", none)) {
    const std::filesystem::path file = bus.path() / "uevent";
    const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 && errno == EACCES) return file;
    if (descriptor >= 0) close(descriptor);
  }
  return {};
}

// Only who applies scales needs all that it says.
TEST_F(Plans, AConfigurationThatCannotBeReadKeepsNothingFromBeingCastRaw) {
  const std::filesystem::path unreadable = UnreadableFile(Path("secret"));
  if (unreadable.empty()) GTEST_SKIP() << "every file can be read here";
  std::filesystem::create_symlink(unreadable, Path("config.json"));
  Request request;
  request.files = {
      {Make("a.safetensors", {io::Tensor("x", DataType::kFloat32, {2})}), Path("b.safetensors")}};
  request.to = DataType::kFloat16;
  ConversionPlan plan;
  EXPECT_EQ(ConversionPlan::Make(request, {}, &plan).code(), StatusCode::kFileError);
  request.ignore_scales = true;
  EXPECT_EQ(PlanOf(request).job(0).to, DataType::kFloat16);
}

TEST_F(Plans, RunsFindScalesThatNoQuantiserWrites) {
  const std::string path = Path("a.safetensors");
  formats::FileContents contents;
  contents.tensors = {io::Tensor("a.weight", DataType::kFloat8E4M3FN, {3, 16}),
                      io::Tensor("a.weight_scale", DataType::kFloat32, {3, 1})};
  const auto writer = formats::CreateTensorFile(path, contents, {true, {}});
  writer->Write(0, 0, std::vector<std::byte>(48, std::byte{0x38}));
  const float scales[] = {1, 0, -2};
  writer->Write(1, 0, std::as_bytes(std::span(scales)));
  writer->Commit();
  Request request;
  request.files = {{path, Path("b.safetensors")}};
  request.to = DataType::kBfloat16;
  const ConversionPlan plan = PlanOf(request);
  EXPECT_TRUE(plan.findings().empty());
  std::string error;
  ASSERT_TRUE(RunConversion(plan, {}, false, nullptr, &error).ok()) << error;
  ASSERT_EQ(plan.findings().size(), 1u);
  EXPECT_EQ(plan.findings()[0],
            path + ": a.weight_scale: of 3 scales 2 zero or negative, the first at index 1");
  EXPECT_TRUE(ConversionPlan().findings().empty());
}

TEST_F(Plans, SayWhatARunNeeds) {
  Request request;
  request.files = {{Make("a.npz", {io::Tensor("x", DataType::kFloat32, {1000}),
                                   io::Tensor("i", DataType::kInt64, {5})}),
                    Path("b.safetensors")}};
  request.to = DataType::kFloat6E2M3;
  const ConversionPlan plan = PlanOf(request);
  EXPECT_EQ(plan.job(0).bytes_before, 4000u);
  EXPECT_EQ(plan.job(0).bytes_after, 750u);
  EXPECT_EQ(plan.job(1).bytes_after, 40u);
  Needs needs;
  std::string error;
  ASSERT_TRUE(CheckOutputs(plan, false, {}, &needs, &error).ok()) << error;
  EXPECT_GT(needs.memory_bytes, 0u);
  EXPECT_EQ(Names(), (std::vector<std::string>{"a.npz"}));
  ASSERT_TRUE(RunConversion(plan, {}, false, nullptr, &error).ok()) << error;
  EXPECT_EQ(needs.disk_bytes, io::ReadBytes(Path("b.safetensors")).size());
  const Status taken = CheckOutputs(plan, false, {}, &needs, &error);
  EXPECT_EQ(taken, Status(StatusCode::kBadInput, Remedy::kAllowOverwriting));
  EXPECT_TRUE(CheckOutputs(plan, true, {}, &needs, &error).ok()) << error;
}

TEST_F(Plans, TwoInputsDoNotBecomeOneFile) {
  Request request;
  request.files = {
      {Make("a.npz", {io::Tensor("x", DataType::kFloat32, {2})}), Path("c.npz")},
      {Make("b.npz", {io::Tensor("y", DataType::kFloat32, {2})}), directory() + "/./c.npz"}};
  request.to = DataType::kFloat16;
  const ConversionPlan plan = PlanOf(request);
  std::string error;
  EXPECT_EQ(RunConversion(plan, {}, true, nullptr, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, directory() + "/./c.npz: is the output of two inputs; give each its own");
  EXPECT_EQ(Names(), (std::vector<std::string>{"a.npz", "b.npz"}));
}

TEST_F(Plans, OfADirectoryMakeAnotherAlsoFromJson) {
  std::filesystem::create_directory(Path("in"));
  Make("in/model-00001-of-00002.safetensors",
       {io::Tensor("a", DataType::kFloat32, {3, 500}), io::Tensor("b", DataType::kInt64, {7})});
  Make("in/model-00002-of-00002.safetensors", {io::Tensor("c", DataType::kFloat32, {100})});
  Request request;
  request.files = {{Path("in"), Path("out")}};
  request.to = DataType::kBfloat16;
  request.max_shard_bytes = 3000;
  const ConversionPlan plan = PlanOf(request);
  ASSERT_EQ(plan.jobs(), 3u);
  std::string error;
  ASSERT_TRUE(RunConversion(plan, {}, false, nullptr, &error).ok()) << error;
  const auto files = [&] {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(Path("out"))) {
      all[entry.path().filename()] = io::ReadBytes(entry.path());
    }
    return all;
  };
  const std::map<std::string, std::string> written = files();
  std::string names;
  for (const auto& [name, bytes] : written) names += name + ' ';
  // b, wider, stands first and takes 56 bytes, a 3,000, c 200: no neighbours go together.
  EXPECT_EQ(names,
            "model-00001-of-00003.safetensors model-00002-of-00003.safetensors "
            "model-00003-of-00003.safetensors model.safetensors.index.json ");
  ConversionPlan read;
  ASSERT_TRUE(ConversionPlan::FromJson(JsonOf(plan), {}, &read, &error).ok()) << error;
  EXPECT_EQ(RunConversion(read, {}, false, nullptr, &error).code(), StatusCode::kBadInput);
  EXPECT_EQ(error, Path("out") + ": the output exists; name another directory, or replace it");
  ASSERT_TRUE(RunConversion(read, {}, true, nullptr, &error).ok()) << error;
  EXPECT_EQ(files(), written);
  ConversionOutputs outputs;
  ASSERT_TRUE(ConversionOutputs::Create(plan, true, {}, &outputs, &error).ok()) << error;
  outputs = ConversionOutputs();
  EXPECT_EQ(files(), written);
  EXPECT_EQ(Names(), (std::vector<std::string>{"in", "out"}));
}

TEST_F(Plans, RunFromJsonAsFromTheRequest) {
  Request request;
  request.files = {{MakeMany("a.safetensors"), Path("b.npz")}};
  request.to = DataType::kFloat8E4M3FN;
  request.all_types = true;
  const ConversionPlan plan = PlanOf(request);
  std::vector<JobLoss> losses;
  std::string error;
  ASSERT_TRUE(RunConversion(plan, {}, false, &losses, &error).ok()) << error;
  const std::string json = JsonOf(plan);
  const std::string written = io::ReadBytes(Path("b.npz"));
  ConversionPlan read;
  ASSERT_TRUE(ConversionPlan::FromJson(json, {}, &read, &error).ok()) << error;
  EXPECT_EQ(JsonOf(read), json);
  EXPECT_EQ(RunConversion(read, {}, false, nullptr, &error).code(), StatusCode::kBadInput);
  ASSERT_TRUE(RunConversion(read, {}, true, nullptr, &error).ok()) << error;
  EXPECT_EQ(JsonOf(read), json);
  EXPECT_EQ(io::ReadBytes(Path("b.npz")), written);
}

TEST_F(Plans, SayWhatAWeightIsMadeOfWhoseScalesAreApplied) {
  Request request;
  request.files = {
      {Make("a.safetensors", {io::Tensor("q.weight", DataType::kFloat8E4M3FN, {300, 200}),
                              io::Tensor("q.weight_scale_inv", DataType::kFloat32, {3, 2}),
                              io::Tensor("k.weight_packed", DataType::kUint8, {5, 32}),
                              io::Tensor("k.weight_scale", DataType::kFloat8E4M3FN, {5, 4}),
                              io::Tensor("k.weight_global_scale", DataType::kFloat32, {1}),
                              io::Tensor("norm", DataType::kFloat32, {7})}),
       Path("b.safetensors")}};
  request.to = DataType::kBfloat16;
  request.rules = {{"k.weight", DataType::kFloat64}};
  const ConversionPlan plan = PlanOf(request);
  const auto line = [&](std::size_t i) {
    const PlannedJob job = plan.job(i);
    std::string text = std::string(job.name) + " " + std::string(ActionName(job.action)) + " " +
                       std::to_string(job.bytes_before) + " of";
    for (const SourceRange& one : job.sources) {
      text.append(" ").append(std::to_string(one.tensor));
      text.append(":").append(std::to_string(one.elements));
    }
    return text;
  };
  ASSERT_EQ(plan.jobs(), 3u);
  EXPECT_EQ(line(0), "norm cast 28 of 1:7");  // the file has its widest types first
  EXPECT_EQ(line(1), "q.weight cast 60024 of 4:60000 2:6");
  EXPECT_EQ(line(2), "k.weight cast 184 of 5:160 3:20 0:1");
  EXPECT_EQ(plan.job(2).shape[1], 64u);
  ASSERT_EQ(plan.notes().size(), 2u);
  std::string error;
  ASSERT_TRUE(RunConversion(plan, {}, false, nullptr, &error).ok()) << error;
  const std::string written = io::ReadBytes(Path("b.safetensors"));
  const std::string json = JsonOf(plan);
  ConversionPlan read;
  ASSERT_TRUE(ConversionPlan::FromJson(json, {}, &read, &error).ok()) << error;
  EXPECT_EQ(JsonOf(read), json);
  ASSERT_TRUE(RunConversion(read, {}, true, nullptr, &error).ok()) << error;
  EXPECT_EQ(JsonOf(read), json);
  EXPECT_EQ(io::ReadBytes(Path("b.safetensors")), written);
  // What another one says of this file is refused: it was planned for another, or changed by hand.
  const auto with = [&](const std::string& a, const std::string& b) {
    std::string text = json;
    return text.replace(text.find(a), a.size(), b);
  };
  const std::string layout = "\"layout\":\"fp8-block\"";
  for (const std::string& other :
       {with("\"elements\":6}", "\"elements\":7}"), with(layout, "\"layout\":\"fp9\"")}) {
    EXPECT_EQ(ConversionPlan::FromJson(other, {}, &read, &error).code(), StatusCode::kBadFile);
    EXPECT_NE(error.find(": the decision has changed for \"q.weight\"; plan again"),
              std::string::npos)
        << error;
  }
}

TEST_F(Plans, RefuseFilesThatAreNotThosePlannedFor) {
  Request request;
  request.files = {{Make("a.npz", {io::Tensor("x", DataType::kFloat32, {2, 3})}), Path("b.npz")}};
  request.to = DataType::kFloat16;
  const std::string json = JsonOf(PlanOf(request));
  Make("a.npz", {io::Tensor("x", DataType::kFloat32, {3, 2})});  // as many bytes
  ConversionPlan plan;
  std::string error;
  EXPECT_EQ(ConversionPlan::FromJson(json, {}, &plan, &error).code(), StatusCode::kBadFile);
  EXPECT_NE(error.find("the decision has changed for \"x\""), std::string::npos) << error;
  Make("a.npz",
       {io::Tensor("x", DataType::kFloat32, {2, 3}), io::Tensor("y", DataType::kInt8, {})});
  EXPECT_EQ(ConversionPlan::FromJson(json, {}, &plan, &error).code(), StatusCode::kBadFile);
  EXPECT_NE(error.find("a.npz: \"input_bytes\" is "), std::string::npos) << error;
}

// The request and the digest say it all: what stands between is for whoever reads it.
TEST_F(Plans, ComeBackFromTheirRequestAndDigest) {
  Request request;
  request.files = {{MakeMany("a.safetensors"), Path("b.npz")}};
  request.to = DataType::kFloat16;
  request.rules = {{"t.float3?", DataType::kBfloat16, {"rank=2"}, "a file's line 7"}};
  request.excluded = {"t.int*"};
  request.renames = {{"t.*", "u.*", "a file's line 8"}};
  request.keep = {Keep::kHead, Keep::kPacked};
  request.cast.round_mode = RoundingMode::kNearest;
  request.all_types = true;
  const std::string json = JsonOf(PlanOf(request));
  std::string text = json;
  const std::size_t notes = text.find(" \"notes\":"), digest = text.find(" \"digest\":");
  ASSERT_LT(notes, digest);
  text.erase(notes, digest - notes);
  ConversionPlan plan;
  std::string error;
  ASSERT_TRUE(ConversionPlan::FromJson(text, {}, &plan, &error).ok()) << error;
  EXPECT_EQ(JsonOf(plan), json);
  const auto refused = [&](const std::string& a, const std::string& b) {
    std::string other = text;
    other.replace(other.find(a), a.size(), b);
    EXPECT_EQ(ConversionPlan::FromJson(other, {}, &plan, &error).code(), StatusCode::kBadFile);
    EXPECT_EQ(error, "the conversion plan: its decisions have changed; plan again");
  };
  refused("\"t.int*\"", "\"t.uint*\"");
  refused("\"digest\": \"", "\"digest\": \"0");
}

// Every member taken away, every value of another kind: one line, or a plan that is none's harm.
TEST_F(Plans, HostileJsonIsRefusedInOneLine) {
  Request request;
  request.files = {{MakeMany("a.safetensors"), Path("b.npz")}};
  request.to = DataType::kFloat16;
  const std::string json = JsonOf(PlanOf(request));
  const auto refused = [&](const std::string& text) {
    ConversionPlan plan;
    std::string error;
    const Status status = ConversionPlan::FromJson(text, {}, &plan, &error);
    if (status.ok()) {
      EXPECT_EQ(JsonOf(plan), json);
      return false;
    }
    // A request for something else may fail in all the ways that requests fail.
    if (status.code() == StatusCode::kBadFile) {
      EXPECT_EQ(error.find("the conversion plan: "), 0u) << error;
    }
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_LT(error.size(), 400u);
    return true;
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("null"));
  EXPECT_TRUE(refused(std::string(100000, '[')));
  EXPECT_TRUE(refused(json + '\0'));
  for (std::size_t n = 0; n + 2 < json.size(); n += 997) EXPECT_TRUE(refused(json.substr(0, n)));
  const auto with = [&](const std::string& a, const std::string& b) {
    std::string text = json;
    const std::size_t at = text.find(a);
    EXPECT_NE(at, std::string::npos) << a;
    return text.replace(at, a.size(), b);
  };
  EXPECT_TRUE(refused(with("\"schema_version\": 1", "\"schema_version\": 2")));
  EXPECT_TRUE(refused(with("\"tensor\":0", "\"tensor\":4000000000")));
  EXPECT_TRUE(refused(with("\"tensor\":0", "\"tensor\":-1")));
  EXPECT_TRUE(refused(with("5001", "18446744073709551615")));
  EXPECT_TRUE(refused(with("\"round_mode\": \"up\"", "\"round_mode\": \"sideways\"")));
  EXPECT_TRUE(refused(with("\"from\":\"float32\"", "\"from\":\"float33\"")));
  EXPECT_TRUE(refused(with("\"reason\":\"asked\"", "\"reason\":\"whim\"")));
  for (const char* const key :
       {"options", "files", "jobs", "name", "shape", "to", "because", "kind", "input_bytes"}) {
    EXPECT_TRUE(refused(with('"' + std::string(key) + "\":", "\"other\":"))) << key;
  }
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 300; ++trial) {
    std::string text = json;
    text[random() % text.size()] = static_cast<char>(' ' + random() % 95);
    refused(text);
  }
}

constexpr std::uint64_t kGrain = 1024;

// Ranges of every job, cut at random.
std::vector<JobRange> Divide(const ConversionPlan& plan, std::mt19937_64& random) {
  std::vector<JobRange> ranges;
  for (std::size_t j = 0; j < plan.jobs(); ++j) {
    const std::uint64_t all = plan.job(j).sources.at(0).elements;
    if (plan.job(j).action == Action::kPrint) {
      ranges.push_back({j});
      continue;
    }
    for (std::uint64_t at = 0; at < all;) {
      const std::uint64_t n = std::min<std::uint64_t>(all - at, kGrain * (1 + random() % 4));
      ranges.push_back({j, at, n});
      at += n;
    }
    if (all == 0) ranges.push_back({j});
  }
  std::ranges::shuffle(ranges, random);
  return ranges;
}

TEST_F(Plans, AnyDivisionInAnyOrderGivesTheSameBytesAndReports) {
  Request request;
  request.files = {
      {MakeMany("a.safetensors"), Path("b.npz")},
      {Make("c.npy", {io::Tensor("arr_0", DataType::kFloat32, {9000})}), Path("d.npy")}};
  request.to = DataType::kFloat6E2M3;
  request.rules = {{"c", DataType::kString}};
  const ConversionPlan plan = PlanOf(request);
  std::vector<JobLoss> whole;
  std::string error;
  ASSERT_TRUE(RunConversion(plan, {}, false, &whole, &error).ok()) << error;
  ASSERT_TRUE(MergeLosses(&whole).ok());
  ASSERT_FALSE(whole.empty());
  const std::string first = io::ReadBytes(Path("b.npz"));
  const std::string second = io::ReadBytes(Path("d.npy"));
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 6; ++trial) {
    const std::vector<JobRange> ranges = Divide(plan, random);
    ConversionOutputs outputs;
    ASSERT_TRUE(ConversionOutputs::Create(plan, true, {}, &outputs, &error).ok()) << error;
    const bool writes = trial % 2 == 0;  // else the loss alone, as another process would
    std::vector<JobLoss> losses;
    for (std::size_t at = 0; at < ranges.size();) {
      const std::size_t n = std::min<std::size_t>(ranges.size() - at, 1 + random() % 9);
      std::vector<JobLoss> part;
      ASSERT_TRUE(RunConversion(plan, std::span(ranges).subspan(at, n), {},
                                writes ? &outputs : nullptr, &part, &error)
                      .ok())
          << error;
      for (JobLoss& loss : part) {
        std::vector<std::byte> bytes(LossMeter::SavedBytes());
        ASSERT_TRUE(loss.loss.Save(bytes).ok());
        JobLoss loaded{loss.job, LossMeter(DataType::kFloat32, DataType::kFloat32)};
        ASSERT_TRUE(loaded.loss.Load(bytes).ok());
        losses.push_back(std::move(loaded));
      }
      at += n;
    }
    if (writes) {
      ASSERT_TRUE(outputs.Commit(&error).ok()) << error;
      EXPECT_EQ(io::ReadBytes(Path("b.npz")), first);
      EXPECT_EQ(io::ReadBytes(Path("d.npy")), second);
    }
    ASSERT_TRUE(MergeLosses(&losses).ok());
    ExpectSameLosses(plan, losses, whole);
  }
}

TEST_F(Plans, RangesThatCannotBeAreRefused) {
  Request request;
  request.files = {{Make("a.npz", {io::Tensor("x", DataType::kFloat32, {9000})}), Path("b.npz")}};
  request.to = DataType::kFloat16;
  const ConversionPlan plan = PlanOf(request);
  const auto code = [&](JobRange range) {
    return RunConversion(plan, std::span(&range, 1), {}, nullptr, nullptr).code();
  };
  EXPECT_EQ(code({0, 0, 3072}), StatusCode::kOk);
  EXPECT_EQ(code({0, 6144, 2856}), StatusCode::kOk);
  EXPECT_EQ(code({0, 6144}), StatusCode::kOk);
  EXPECT_EQ(code({1, 0}), StatusCode::kBadInput);
  EXPECT_EQ(code({0, 1, 3072}), StatusCode::kBadInput);
  EXPECT_EQ(code({0, 0, 100}), StatusCode::kBadInput);
  EXPECT_EQ(code({0, 6144, 2857}), StatusCode::kBadInput);
  EXPECT_EQ(code({0, 3072 * 4}), StatusCode::kBadInput);
}

TEST_F(Plans, AnInterruptLeavesNothing) {
  Request request;
  request.files = {{Make("a.npz", {io::Tensor("x", DataType::kFloat32, {9000})}), Path("b.npz")}};
  request.to = DataType::kFloat16;
  const ConversionPlan plan = PlanOf(request);
  const std::atomic<bool> interrupted{true};
  RunSettings settings;
  settings.interrupted = &interrupted;
  EXPECT_EQ(RunConversion(plan, settings, false, nullptr).code(), StatusCode::kInterrupted);
  EXPECT_EQ(Names(), (std::vector<std::string>{"a.npz"}));
}

}  // namespace
}  // namespace tensorcast::convert
