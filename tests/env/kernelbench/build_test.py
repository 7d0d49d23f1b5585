"""Extensions: what is built, under which key, what is refused, and what compilers say."""
import tempfile
import unittest
from pathlib import Path

from module_judge import HEAD, LINEAR
from processes import Process
from frames import read_frame

import torch

import build_main
import compiling
import extension
import light
import module_new

INCLUDE = str(Path(torch.__file__).parent / "include")
INLINE = "from torch.utils.cpp_extension import load_inline\n"
TWICE = """
extension = load_inline(name="twice", cpp_sources="torch::Tensor twice(torch::Tensor x) { return x + torch::zeros_like(x) + x; }",
                        functions=["twice"], extra_cflags=["-O1"])
"""
PARALLEL = """
extension = load_inline(name="many", functions=["many"], FLAGS, cpp_sources='''
torch::Tensor many(torch::Tensor x) {
  auto y = x.clone();
  float* p = y.data_ptr<float>();
#pragma omp parallel for
  for (int i = 0; i < y.numel(); ++i) p[i] *= 2;
  return y;
}''')
"""
MODEL = "class ModelNew(nn.Module):\n    pass\n"


def recipe(**named):
    given = {"name": "one", "cpp_sources": "int f();", "cuda_sources": "int f() { return 1; }", "functions": ["f"], **named}
    return extension.inline_recipe(**given)


class Recipes(unittest.TestCase):
    def test_the_key_is_of_all_that_matters(self):
        keys = {one.key for one in (recipe(), recipe(name="two"), recipe(cpp_sources="int f(); "), recipe(cuda_sources="int f();"),
                                    recipe(functions=["g"]), recipe(extra_cflags=["-O1"]), recipe(extra_cuda_cflags=["-O1"]),
                                    recipe(extra_ldflags=["-lcublas"]))}
        self.assertEqual(len(keys), 8)
        self.assertEqual(recipe().key, recipe(verbose=True, extra_cuda_cflags=["-arch=sm_80", "-gencode=arch=compute_90,code=sm_90"]).key)

    def test_flags(self):
        kept = recipe(extra_cuda_cflags=["-O3", "--use_fast_math", "-lineinfo", "-DN=4", "-std=c++20 -Xptxas=-v"]).cuda_flags
        self.assertEqual(kept, ["-O3", "--use_fast_math", "-lineinfo", "-DN=4", "-std=c++20", "-Xptxas=-v"])
        for flag in ("-include", "/etc/passwd", "-I/tmp", "-o", "@file", "-DX=`id`", "-Wl,-rpath,/tmp", "-fplugin=x.so", "-B/tmp",
                     "--compiler-bindir=/tmp", "-Xcompiler", "-wrapper"):
            for where in ("extra_cuda_cflags", "extra_cflags"):
                refused = recipe(**{where: [flag]})
                self.assertEqual((len(refused.refused), refused.key), (1, recipe().key), (where, flag))
                self.assertIn(flag.split(",")[-1], refused.refused[0])
        for named in ({"extra_ldflags": ["-L/tmp"]}, {"extra_include_paths": ["/tmp"]}):
            self.assertIn("/tmp", recipe(**named).refused[0])
            self.assertEqual(recipe(**named).key, recipe().key)
        for name in ("../x", "a b"):
            with self.assertRaises(extension.Refused, msg=name):
                recipe(name=name)

    def test_nothing_is_no_flag(self):
        for value in (None, [], [""], [None], ["", "  "], (), ""):
            one = recipe(extra_cflags=value, extra_cuda_cflags=value, extra_ldflags=value, extra_include_paths=value)
            self.assertEqual((one.key, one.refused), (recipe().key, []), value)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.cpp")
            path.write_text("int f();")
            self.assertEqual(extension.files_recipe("one", [str(path)]).sources, {"0.cpp": "int f();"})

    def test_headers_of_the_operators_that_are_named(self):
        text = "#include <torch/extension.h>\nauto y = torch::empty_like(x); at::sum(y); at::rand({2}); torch::Tensor z;"
        operators = light.operators_of(text, INCLUDE)
        self.assertEqual(operators, ["empty_like", "rand", "sum"])
        self.assertIsNone(light.operators_of("#include <torch/csrc/autograd/custom_function.h>", INCLUDE))
        with tempfile.TemporaryDirectory() as folder:
            written = Path(light.write_light(folder, operators, text, INCLUDE, trims=True))
            self.assertIn("#include <ATen/ops/sum.h>", Path(written, "torch/light.h").read_text())
            for name, idle in (("sum", False), ("rand", True)):  # the one's functions take a generator
                own, torchs = (Path(where, f"ATen/ops/{name}.h").read_text() for where in (written, INCLUDE))
                self.assertEqual("ATen/Context.h" in own, idle)
                self.assertIn(f"at::_ops::{name}", own)
                self.assertIn("ATen/Context.h", torchs)

    def test_headers_of_python_where_they_are_named(self):
        with tempfile.TemporaryDirectory() as folder:
            for text, named in (("torch::Tensor f(torch::Tensor x) { return copy(x); }", False), ("PYBIND11_MODULE(a, m) {}", True),
                                ("py::object f();", True), ("PyObject* f();", True), ("namespace py = pybind11;", True)):
                written = Path(light.write_light(folder, [], text, INCLUDE, trims=True), "torch/extension.h").read_text()
                self.assertEqual("pybind.h" in written, named, text)


class Building(unittest.TestCase):
    def collected(self, source):
        with tempfile.TemporaryDirectory() as folder:
            return build_main.collect({"source": HEAD + INLINE + source, "problem": LINEAR, "precision": "fp32"}, folder)

    def setUp(self):
        import torch.utils.cpp_extension as cpp_extension
        for owner, name in ((torch.cuda, "is_available"), (torch.cuda, "get_device_capability"), (cpp_extension, "load_inline"),
                            (cpp_extension, "load")):
            self.addCleanup(setattr, owner, name, getattr(owner, name))

    def test_what_a_file_builds(self):
        self.assertEqual([one.name for one in self.collected(TWICE + MODEL)], ["twice"])
        self.assertEqual(self.collected(MODEL), [])
        later = "class ModelNew(nn.Module):\n    def __init__(self, *sizes):\n" + TWICE.replace("\n", "\n        ") + "\n        x\n"
        self.assertEqual([one.name for one in self.collected(later)], ["twice"])
        self.assertEqual([one.name for one in self.collected(TWICE + "torch.zeros(1, device='cuda')\n" + MODEL)], ["twice"])
        (one,) = self.collected(TWICE.replace("-O1", "-fplugin=x") + MODEL)
        self.assertIn("-fplugin=x may not be given", one.refused[0])

    def build(self, source, refused=False):
        """(the answer of the process that fails, or of the first; libraries)"""
        process = Process("build_main.py", [], [])
        self.addCleanup(process.close)
        tools = compiling.find_tools()
        self.assertEqual(process.receive(), {"status": "ready", "tools": tools, "lacks": compiling.lacking(tools, cuda=True)})
        self.assertEqual(process.ask(source=HEAD + INLINE + source, problem=LINEAR, precision="fp32"), {"status": "read", "refused": refused})
        answer, libraries = process.receive(), []
        for one in answer.get("extensions", ()):
            folder, objects = tempfile.TemporaryDirectory(), []
            self.addCleanup(folder.cleanup)
            for unit in one["units"]:
                failed, object_file = self.compile(op="object", unit=unit, architecture="90a", tools=tools, headers="", refused=one["refused"])
                if failed:
                    return failed, []
                objects.append(str(Path(folder.name, unit["file"] + ".o")))
                Path(objects[-1]).write_bytes(object_file)
            failed, library = self.compile(op="link", objects=objects, libraries=one["libraries"], cuda=False, tools=tools)
            self.assertIsNone(failed)
            libraries.append(library)
        return answer, libraries

    def compile(self, **request):
        """(failure, file)"""
        process = Process("../extensions/compile_main.py", [], [])
        self.addCleanup(process.close)
        self.assertEqual(process.receive(), {"status": "ready"})
        answer = process.ask(**request)
        if answer["status"] != "ok":
            return answer, None
        return None, b"".join(read_frame(process.channel.socket.recv) for _ in range(sum(answer["parts"])))

    def test_a_library(self):
        answer, (library,) = self.build(TWICE + MODEL)
        self.assertEqual(answer["status"], "ok", answer)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "twice.so")
            path.write_bytes(library)
            self.assertEqual(extension.load_library("twice", str(path)).twice(torch.ones(2)).tolist(), [2, 2])
            extension.install_built({answer["extensions"][0]["key"]: str(path)})
            names = {"load_inline": extension.torch_extension.load_inline}
            exec(TWICE, names)
            self.assertEqual(names["extension"].twice(torch.ones(1)).tolist(), [2])
            with self.assertRaisesRegex(RuntimeError, "was not compiled beforehand"):
                exec(TWICE.replace("-O1", "-O2"), names)

    def test_what_is_never_defined(self):
        answer, (library,) = self.build("load_inline(name='bare', cpp_sources='torch::Tensor bare(torch::Tensor x);', functions=['bare'])\n" + MODEL)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "bare.so")
            path.write_bytes(library)
            with self.assertRaisesRegex(extension.Undefined, r"^none of the sources of bare defines \w*bare\w*, which they call$") as caught:
                extension.load_library("bare", str(path))
            self.assertTrue(module_new.failure_of("import", caught.exception, str(path)).reply["compiler"])

    def test_what_is_refused_is_built(self):
        self.assertEqual([one.name for one in self.collected("import sys\neval('__imp' + 'ort__')('gc')\n" + TWICE + MODEL)], ["twice"])
        answer, libraries = self.build("import sys\n" + TWICE.replace("x + torch", "z + torch") + MODEL, refused=True)
        self.assertEqual((answer["status"], libraries), ("failed", []))

    def test_what_compilers_say(self):
        answer, libraries = self.build(TWICE.replace("x + torch", "z + torch") + MODEL)
        self.assertEqual((answer["status"], answer["stage"], answer["compiler"], libraries), ("failed", "compile", True, []))
        self.assertRegex(answer["message"], r"^cpp_sources:1:\d+: error: .z. was not declared in this scope")
        self.assertNotRegex(answer["message"] + answer["traceback"], r"(?m)(^|[\s'\"(])/\w")

    def test_headers_that_are_missing_are_no_fault_of_the_source(self):
        (unit,) = compiling.units_of(recipe(cuda_sources=None, cpp_sources="int f("))
        with tempfile.TemporaryDirectory() as folder:
            tools = {**compiling.find_tools(), "python": folder}
            with self.assertRaisesRegex(OSError, "no Python.h in /.*python3-dev"):
                compiling.Compiler(folder, tools, "90a").compile(unit)
            self.assertEqual(self.compile(op="object", unit=unit, tools=tools)[0]["status"], "infra")
            Path(folder, "Python.h").touch()
            with self.assertRaises(compiling.CompileError):
                compiling.Compiler(folder, tools, "90a").compile(unit)

    def test_no_process_takes_a_source_for_a_path(self):
        (unit,) = compiling.units_of(recipe(cuda_sources=None))
        for file in ("../main.cpp", "/tmp/main.cpp", "main.h", ""):
            self.assertIn("cannot be called", self.compile(op="object", unit={**unit, "file": file}, tools=compiling.find_tools())[0]["message"])

    def test_a_refused_flag(self):
        answer, (library,) = self.build(TWICE.replace("-O1", "-I/tmp") + MODEL)
        self.assertEqual(answer["status"], "ok", answer)
        answer, _ = self.build(TWICE.replace("-O1", "-I/tmp").replace("x + torch", "z + torch") + MODEL)
        self.assertRegex(answer["message"], r"^cpp_sources:1:\d+: error: .* \(and the flag -I/tmp may not be given to the compiler; .*may\)$")

    def test_flags_that_libraries_need(self):
        """They are loaded where torch is, whose libraries they call."""
        for flags in ("extra_cflags=['-fopenmp -march=native', ''], extra_ldflags=['-fopenmp', '-lgomp']",
                      "extra_ldflags=['-lcurand', '-lcublasLt', '-lcusparse', '-lcufft', '-lm', '-lstdc++', '-lpthread', '-Wl,--no-as-needed']"):
            answer, libraries = self.build(PARALLEL.replace("FLAGS", flags) + MODEL)
            self.assertEqual(answer["status"], "ok", answer)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "many.so")
                path.write_bytes(libraries[0])
                self.assertEqual(extension.load_library("many", str(path)).many(torch.ones(2)).tolist(), [2, 2])


if __name__ == "__main__":
    unittest.main()
