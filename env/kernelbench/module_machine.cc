#include "env/kernelbench/module_machine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/input/json.h"
#include "base/input/printable.h"
#include "base/machine/child_process.h"
#include "env/verdict/timing.h"

namespace temper::env {
namespace {

namespace fs = std::filesystem;

// Asks the driver, and prints one line of JSON. No context is made. Numbers of attributes are those of cuda.h.
constexpr const char* kGpuQuestion = R"(
import ctypes, json, sys
def fail(words):
    print(json.dumps({"error": words}))
    sys.exit()
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError:
    fail("no NVIDIA driver")
def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result:
        fail(f"the driver's {name} fails with error {result}")
count, device, number = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
call("cuInit", 0)
call("cuDeviceGetCount", ctypes.byref(count))
if not count.value:
    fail("the NVIDIA driver sees no GPU")
call("cuDeviceGet", ctypes.byref(device), int(sys.argv[1]) % count.value)
name, uuid, bus, memory = (ctypes.create_string_buffer(n) for n in (128, 16, 32, 8))
call("cuDeviceGetName", name, 127, device)
call("cuDeviceGetUuid", uuid, device)
call("cuDeviceGetPCIBusId", bus, 31, device)
call("cuDeviceTotalMem_v2", memory, device)
call("cuDriverGetVersion", ctypes.byref(number))
def attribute(which):
    value = ctypes.c_int()
    call("cuDeviceGetAttribute", ctypes.byref(value), which, device)
    return value.value
raw = uuid.raw.hex()
print(json.dumps({"name": name.value.decode(errors="replace"), "bus": bus.value.decode(),
                  "uuid": "GPU-" + "-".join((raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:])),
                  "memory_bytes": int.from_bytes(memory.raw, "little"), "driver": number.value, "l2_bytes": attribute(38),
                  "bytes_per_s": 2e3 * attribute(36) * attribute(37) / 8,
                  "capability": 10 * attribute(75) + attribute(76)}))
)";

// The device file of the GPU at that place of the bus, or "" if the driver does not tell.
std::string node_of(std::string bus) {
  std::ranges::transform(bus, bus.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  constexpr std::string_view kMark = "Device Minor:";
  std::ifstream information("/proc/driver/nvidia/gpus/" + bus + "/information");
  for (std::string line; std::getline(information, line);)
    if (line.starts_with(kMark)) return fmt::format("/dev/nvidia{}", std::atoi(line.c_str() + kMark.size()));
  return "";
}

// All GPUs' where it is not known which is this one's: fewer nodes are better, and none is no use.
std::vector<std::string> nodes_of(const std::string& bus) {
  std::vector<std::string> nodes;
  for (const char* shared : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"})
    if (fs::exists(shared)) nodes.emplace_back(shared);
  if (const std::string own = node_of(bus); !own.empty() && fs::exists(own)) {
    nodes.push_back(own);
    return nodes;
  }
  for (int gpu = 0; gpu < 64; ++gpu)
    if (const std::string node = fmt::format("/dev/nvidia{}", gpu); fs::exists(node)) nodes.push_back(node);
  return nodes;
}

ModuleMachine this_core(const TritonPython& python) {
  ModuleMachine machine;
  machine.device = "cpu";
  machine.name = "torch " + python.torch + " on a core";
  machine.uuid = "modules-on-cores";
  machine.bytes_per_s = measure_roofs().bytes_per_s;
  return machine;
}

}  // namespace

ModuleMachine find_module_machine(const TritonPython& python, const std::string& device, int gpu) {
  if (device == "cpu") return this_core(python);
  const CommandOutput said =
      output_of(fmt::format("{} -I -B -c {} {}", shell_word(python.program), shell_word(kGpuQuestion), gpu));
  const size_t line = said.text.rfind('{');
  if (line == std::string::npos)
    throw WorldError("no GPU answers: {}", printable(said.text + said.errors, 200));
  ModuleMachine machine;
  try {
    const nlohmann::json json = parse_json_object(said.text.substr(line), "the driver");
    if (json.contains("error")) throw WorldError("{}", printable(json.at("error").get<std::string>(), 200));
    machine.name = json.at("name").get<std::string>();
    machine.uuid = json.at("uuid").get<std::string>();
    machine.driver = json.at("driver").get<int>();
    machine.capability = json.at("capability").get<int>();
    machine.memory_bytes = json.at("memory_bytes").get<int64_t>();
    machine.l2_bytes = json.at("l2_bytes").get<int64_t>();
    machine.bytes_per_s = json.at("bytes_per_s").get<double>();
    machine.nodes = nodes_of(json.at("bus").get<std::string>());
  } catch (const nlohmann::json::exception& e) {
    throw WorldError("the driver answers oddly: {}", printable(e.what(), 200));
  } catch (const ConfigError& e) {
    throw WorldError("the driver answers oddly: {}", printable(e.what(), 200));
  }
  if (machine.bytes_per_s <= 0) throw WorldError("{} does not tell its memory's bandwidth", machine.name);
  return machine;
}

TimeBounds module_bounds(const ModuleMachine& machine, double bytes) {
  const Roofs roofs{machine.bytes_per_s, 1};
  if (machine.device == "cpu") return {floor_us(bytes, 0, roofs), roof_us(bytes, 0, roofs)};
  const double from_memory = std::max(0.0, bytes - double(machine.l2_bytes));
  return {gpu_floor_us(roof_us(from_memory, 0, roofs)), roof_us(bytes, 0, roofs)};
}

}  // namespace temper::env
