// CUDA C++: kernels and a launcher on the host, compiled to a shared object and a cubin.
//
// The entry point is the launcher. It gets pointers into GPU memory, which the host cannot read, and the
// sizes:
//   extern "C" void launch(const float* x, float* y, int n, int m)
// A last argument `cudaStream_t stream` may be added; it is the one stream there is, 0. It may be `noexcept`,
// say `__restrict__`, leave out `const`, and take sizes as any integer of 32 or 64 bits: the call is the same.

#include "env/languages/cuda_text.h"
#include "env/languages/language.h"

namespace temper::env {
namespace {

std::string signature(const std::vector<CallParameter>& parameters) {
  return c_signature(kCuda.entry_point, parameters);
}

// "(const float* x, float* y, int n)" of the signature, without the brackets.
std::string list_of(const std::string& signature) {
  const size_t open = signature.find('(');
  return signature.substr(open + 1, signature.size() - open - 2);
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '"' ? std::string("\\\"") : std::string(1, c);
  return result;
}

// Whether an entry point is one that can be called with what is asked, argument by argument.
constexpr const char* kFits = R"(
template <class Pointer> struct TemperBare { using type = Pointer; };
template <class Type> struct TemperBare<const Type*> { using type = Type*; };
template <class A, class B> struct TemperSame { static constexpr bool value = false; };
template <class A> struct TemperSame<A, A> { static constexpr bool value = true; };
template <class Asked, class Given> struct TemperFits {
  static constexpr bool value = TemperSame<typename TemperBare<Asked>::type, typename TemperBare<Given>::type>::value;
};
template <> struct TemperFits<int, unsigned> { static constexpr bool value = true; };
template <> struct TemperFits<int, long> { static constexpr bool value = true; };
template <> struct TemperFits<int, unsigned long> { static constexpr bool value = true; };
template <> struct TemperFits<int, long long> { static constexpr bool value = true; };
template <> struct TemperFits<int, unsigned long long> { static constexpr bool value = true; };
template <class Asked, class Given> struct TemperAll { static constexpr bool value = false; };
template <> struct TemperAll<void(), void()> { static constexpr bool value = true; };
template <> struct TemperAll<void(), void(cudaStream_t)> { static constexpr bool value = true; };
template <class A, class... As, class G, class... Gs> struct TemperAll<void(A, As...), void(G, Gs...)> {
  static constexpr bool value = TemperFits<A, G>::value && TemperAll<void(As...), void(Gs...)>::value;
};
template <class Asked, class Entry> struct TemperEntry { static constexpr bool known = false; };
template <class Asked, class... Gs> struct TemperEntry<Asked, void (*)(Gs...)> {
  static constexpr bool known = TemperAll<Asked, void(Gs...)>::value;
};
template <class Asked, class... Gs> struct TemperEntry<Asked, void (*)(Gs...) noexcept> {
  static constexpr bool known = TemperAll<Asked, void(Gs...)>::value;
};
)";

// Another signature is an error instead of a crash; what follows the source is on lines of its own "file".
std::string translation_unit(const std::vector<CallParameter>& asked, const std::string& source) {
  const std::string declaration = signature(asked), list = list_of(declaration);
  std::string unit;
  if (list.find("__nv_bfloat16") != std::string::npos) unit += "#include <cuda_bf16.h>\n";
  if (list.find("__half") != std::string::npos) unit += "#include <cuda_fp16.h>\n";
  unit += kOwnText + source + "\n#line 1 \"entry_point\"\n";
  unit += "static auto temper_entry = &launch;\n";
  unit += kFits;
  unit += "static_assert(TemperEntry<void(" + list +
          "), decltype(temper_entry)>::known, \"the launcher must be: " + escaped(declaration) + "\");\n";
  return unit;
}

}  // namespace

const Language kCuda{
    .name = "cuda",
    .fence_words = {"cuda", "cu", "cuh", "cuda-cpp", "cuda_cpp", "nvcc", "cpp", "c++", "cxx", "cc", "c"},
    .title = "CUDA C++",
    .calling =
        "The function runs on the host and starts your kernels on the default stream. The pointers are to "
        "dense "
        "row-major arrays in GPU memory, which the host cannot read. The kernels write every element of the "
        "outputs and change no input. The source includes all headers that it uses.",
    .form = Form::kCudaUnit,
    .extension = ".cu",
    .on_gpu = true,
    .short_floats = true,
    // The last: <cmath> need not bring Bessel functions and their like, a fifth of the time.
    .compiler_flags = {"-std=c++17", "--expt-relaxed-constexpr", "-w", "-DNDEBUG", "-DCCCL_DISABLE_NVTX",
                       "-D_GLIBCXX_BITS_SPECFUN_H"},
    .newer_flags = {},
    .entry_point = "launch",
    .entry_symbol = "launch",
    .signature = signature,
    .translation_unit = translation_unit,
    .host_text = host_text,
};

}  // namespace temper::env
