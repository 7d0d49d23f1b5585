#include "env/plan/cubin.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace temper::env {
namespace {

constexpr int kAbiOfCuda13 = 8;
constexpr uint16_t kMachineCuda = 190;
constexpr uint8_t kEntryFlag = 0x10;        // in a symbol's st_other
constexpr uint32_t kReservedShared = 1024;  // in each .nv.shared section, from sm_90 on
constexpr uint32_t kMaxParameterBytes = 32764;
constexpr size_t kMaxSections = 16384, kMaxSymbols = 65536, kMaxNameBytes = kMaxKernelNameBytes;

// Attributes of .nv.info: a format, a number, two bytes or a length with bytes.
enum Attribute : uint8_t {
  kMaxThreads = 0x05,
  kRequiredThreads = 0x10,
  kParameter = 0x17,
  kMinStack = 0x12,
  kRegisters = 0x2f,
  kCluster = 0x3d,
  kParameterWide = 0x45,
};
constexpr uint8_t kFormatSized = 4;

constexpr std::string_view kGlobal = ".nv.global", kTables = ".nv.global.init";

struct Section {
  std::string_view name, content;  // no content where the file has none (SHT_NOBITS)
  uint32_t type = 0;
  uint64_t bytes = 0, at = 0;  // at: in the file
};

struct Symbol {
  std::string_view name;
  uint8_t type = 0, bind = 0, other = 0;
  uint16_t section = 0;
  uint64_t bytes = 0, value = 0,
           at = 0;  // value: an offset within the section; at: of the symbol in the file
};

// Thrown and caught in this file alone.
struct Malformed {
  std::string what;
};

template <class Record>
Record record_at(std::string_view bytes, uint64_t offset, const char* what) {
  if (offset > bytes.size() || sizeof(Record) > bytes.size() - offset) throw Malformed{what};
  Record record;
  std::memcpy(&record, bytes.data() + offset, sizeof record);
  return record;
}

std::string_view part(std::string_view bytes, uint64_t offset, uint64_t size, const char* what) {
  if (offset > bytes.size() || size > bytes.size() - offset) throw Malformed{what};
  return bytes.substr(offset, size);
}

std::string_view string_at(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) throw Malformed{"a name outside its table"};
  const size_t end = table.find('\0', offset);
  if (end == std::string_view::npos || end - offset > kMaxNameBytes) throw Malformed{"a name without an end"};
  return table.substr(offset, end - offset);
}

class CubinReader {
 public:
  explicit CubinReader(std::string_view bytes) : bytes_(bytes) {}

  Cubin read() {
    read_header();
    read_sections();
    read_symbols();
    find_kernels();
    read_attributes();
    find_shared();
    find_globals();
    return std::move(cubin_);
  }

 private:
  void read_header() {
    header_ = record_at<Elf64_Ehdr>(bytes_, 0, "no ELF header");
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 || header_.e_ident[EI_CLASS] != ELFCLASS64 ||
        header_.e_machine != kMachineCuda)
      throw Malformed{"no cubin"};
    if (header_.e_shentsize != sizeof(Elf64_Shdr) || header_.e_shnum > kMaxSections)
      throw Malformed{"a section table of another kind"};
    // CUDA 13 writes another version of this file than 12, which Triton brings along.
    const bool newer = header_.e_ident[EI_ABIVERSION] >= kAbiOfCuda13;
    cubin_.architecture = (newer ? header_.e_flags >> 8 : header_.e_flags) & 0xFF;
  }

  void read_sections() {
    std::vector<Elf64_Shdr> headers;
    for (size_t i = 0; i < header_.e_shnum; ++i)
      headers.push_back(record_at<Elf64_Shdr>(bytes_, checked_sum(header_.e_shoff, i * sizeof(Elf64_Shdr)),
                                              "sections outside the file"));
    if (header_.e_shstrndx >= headers.size()) throw Malformed{"no names of sections"};
    const Elf64_Shdr& names = headers[header_.e_shstrndx];
    const auto table = part(bytes_, names.sh_offset, names.sh_size, "names outside the file");
    for (const Elf64_Shdr& header : headers) {
      Section section{string_at(table, header.sh_name), {}, header.sh_type, header.sh_size, header.sh_offset};
      if (header.sh_type != SHT_NOBITS && header.sh_type != SHT_NULL)
        section.content = part(bytes_, header.sh_offset, header.sh_size, "a section outside the file");
      sections_.push_back(section);
    }
  }

  void read_symbols() {
    const Section &table = only(".symtab"), &names = only(".strtab");
    const size_t count = table.content.size() / sizeof(Elf64_Sym);
    if (count > kMaxSymbols) throw Malformed{"too many symbols"};
    for (size_t i = 0; i < count; ++i) {
      const auto entry = record_at<Elf64_Sym>(table.content, i * sizeof(Elf64_Sym), "symbols");
      symbols_.push_back({string_at(names.content, entry.st_name), uint8_t(ELF64_ST_TYPE(entry.st_info)),
                          uint8_t(ELF64_ST_BIND(entry.st_info)), entry.st_other, entry.st_shndx,
                          entry.st_size, entry.st_value, table.at + i * sizeof(Elf64_Sym)});
    }
  }

  void find_kernels() {
    for (size_t i = 0; i < symbols_.size(); ++i) {
      const Symbol& symbol = symbols_[i];
      if (symbol.section == SHN_UNDEF) {
        if (symbol.bind != STB_LOCAL && !symbol.name.empty() && !symbol.name.starts_with(".nv."))
          cubin_.undefined.emplace_back(symbol.name);
      } else if (symbol.type == STT_FUNC && symbol.other & kEntryFlag) {
        by_symbol_[uint32_t(i)] = cubin_.kernels.size();
        by_name_[symbol.name] = cubin_.kernels.size();
        cubin_.kernels.push_back({});
        cubin_.kernels.back().name = symbol.name;
      }
    }
  }

  // Sections of a file that a compiler wrote lie side by side; where many of them are the same bytes, a small
  // file would cost as much as a large one.
  void read_attributes() {
    parameters_.resize(cubin_.kernels.size());
    size_t left = bytes_.size();
    for (const Section& section : sections_) {
      constexpr std::string_view kInfo = ".nv.info";
      if (!section.name.starts_with(kInfo)) continue;
      if (section.content.size() > left) throw Malformed{"sections that overlap"};
      left -= section.content.size();
      if (section.name == kInfo) {
        for_each_attribute(section.content, [&](uint8_t a, std::string_view v) { of_symbol(a, v); });
      } else if (section.name.starts_with(".nv.info.")) {
        const auto it = by_name_.find(section.name.substr(kInfo.size() + 1));
        if (it == by_name_.end()) continue;  // of a function that is no kernel
        for_each_attribute(section.content,
                           [&](uint8_t a, std::string_view v) { of_kernel(it->second, a, v); });
      }
    }
    for (size_t i = 0; i < parameters_.size(); ++i) take_parameters(parameters_[i], cubin_.kernels[i]);
  }

  template <class Take>
  void for_each_attribute(std::string_view content, const Take& take) {
    while (!content.empty()) {
      const auto format = record_at<uint8_t>(content, 0, "attributes"),
                 attribute = record_at<uint8_t>(content, 1, "attributes");
      const auto size = record_at<uint16_t>(content, 2, "attributes");
      content.remove_prefix(4);
      if (format != kFormatSized) continue;
      take(attribute, part(content, 0, size, "attributes"));
      content.remove_prefix(size);
    }
  }

  // {symbol, value}
  void of_symbol(uint8_t attribute, std::string_view value) {
    if (attribute != kRegisters && attribute != kMinStack) return;
    const auto it = by_symbol_.find(word(value, 0));
    if (it == by_symbol_.end()) return;
    CubinKernel& kernel = cubin_.kernels[it->second];
    (attribute == kRegisters ? kernel.registers : kernel.stack_bytes) = word(value, 1);
  }

  void of_kernel(size_t index, uint8_t attribute, std::string_view value) {
    CubinKernel& kernel = cubin_.kernels[index];
    if (attribute == kMaxThreads || attribute == kRequiredThreads) {
      const uint64_t threads = uint64_t(word(value, 0)) * word(value, 1) * word(value, 2);
      kernel.max_threads = uint32_t(std::min<uint64_t>(threads, 1024));
    } else if (attribute == kCluster) {
      kernel.fixed_cluster = true;
      kernel.cluster = {word(value, 0), word(value, 1), word(value, 2)};
      for (const uint32_t size : {kernel.cluster.x, kernel.cluster.y, kernel.cluster.z})
        if (size < 1 || size > 16) throw Malformed{"a cluster's size"};
    } else if (attribute == kParameter || attribute == kParameterWide) {
      const uint32_t place = word(value, 1), size = word(value, 2);
      parameter(index, place & 0xFFFF, place >> 16, attribute == kParameter ? size >> 18 : size & 0xFFFF);
    }
  }

  void parameter(size_t kernel, uint32_t number, uint32_t offset, uint32_t bytes) {
    if (bytes == 0 || offset + bytes > kMaxParameterBytes || number >= kMaxParameterBytes)
      throw Malformed{"a parameter's place"};
    parameters_[kernel][number] = {offset, bytes};
  }

  static void take_parameters(const std::map<uint32_t, CubinParameter>& by_number, CubinKernel& kernel) {
    uint32_t end = 0;
    for (const auto& [number, one] : by_number) {
      if (number != kernel.parameters.size() || one.offset < end)
        throw Malformed{"parameters that overlap or are missing"};
      end = one.offset + one.bytes;
      kernel.parameters.push_back(one);
    }
  }

  void find_shared() {
    constexpr std::string_view kShared = ".nv.shared.";
    for (const Section& section : sections_) {
      if (!section.name.starts_with(kShared)) continue;
      if (CubinKernel* kernel = named(section.name.substr(kShared.size())))
        kernel->static_shared = uint32_t(std::min<uint64_t>(section.bytes, 1 << 20));
    }
    for (CubinKernel& kernel : cubin_.kernels)
      kernel.static_shared -= std::min(kernel.static_shared, cubin_.architecture >= 90 ? kReservedShared : 0);
  }

  void find_globals() {
    for (const Symbol& symbol : symbols_) {
      if (symbol.type == STT_SECTION || symbol.section == SHN_UNDEF || symbol.section >= sections_.size())
        continue;
      const Section& section = sections_[symbol.section];
      if (!section.name.starts_with(kGlobal)) continue;
      const bool table = section.name == kTables && symbol.bytes > 0 &&
                         symbol.value <= section.content.size() &&
                         symbol.bytes <= section.content.size() - symbol.value;
      cubin_.globals.push_back(
          {std::string(symbol.name), symbol.bytes, table, symbol.bind == STB_GLOBAL, symbol.at});
    }
    for (const Section& section : sections_)
      if (section.name.starts_with(kGlobal))
        cubin_.global_bytes = checked_sum(cubin_.global_bytes, section.bytes);
  }

  static uint32_t word(std::string_view value, size_t i) {
    return record_at<uint32_t>(value, 4 * i, "attributes");
  }
  static uint64_t checked_sum(uint64_t a, uint64_t b) {
    if (a + b < a) throw Malformed{"a size that overflows"};
    return a + b;
  }
  CubinKernel* named(std::string_view name) {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : &cubin_.kernels[it->second];
  }
  const Section& only(std::string_view name) const {
    for (const Section& section : sections_)
      if (section.name == name) return section;
    throw Malformed{fmt::format("no section {}", name)};
  }

  std::string_view bytes_;
  Elf64_Ehdr header_{};
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
  std::map<uint32_t, size_t> by_symbol_;
  std::map<std::string_view, size_t> by_name_;
  std::vector<std::map<uint32_t, CubinParameter>> parameters_;  // of each kernel, by number
  Cubin cubin_;
};

}  // namespace

uint32_t CubinKernel::parameter_bytes() const {
  return parameters.empty() ? 0 : parameters.back().offset + parameters.back().bytes;
}

const CubinKernel* Cubin::find(std::string_view name) const {
  const auto it =
      std::find_if(kernels.begin(), kernels.end(), [&](const auto& one) { return one.name == name; });
  return it == kernels.end() ? nullptr : &*it;
}

void make_visible(std::string& bytes, const CubinGlobal& global) {
  auto entry = record_at<Elf64_Sym>(bytes, global.symbol_at, "symbols");
  entry.st_info = ELF64_ST_INFO(STB_GLOBAL, ELF64_ST_TYPE(entry.st_info));
  std::memcpy(bytes.data() + global.symbol_at, &entry, sizeof entry);
}

std::string read_cubin(std::string_view bytes, Cubin& cubin) {
  cubin = {};
  try {
    cubin = CubinReader(bytes).read();
    return "";
  } catch (const Malformed& problem) {
    return "not a cubin that can be read: " + problem.what;
  }
}

}  // namespace temper::env
