"""Flags of extensions: what torch's builder takes, in each form and list, is kept, left out or refused by name."""
import unittest

import sources  # noqa: F401

import flags

# (list, what is given, what is kept)
KEPT = [
    ("host", ["-O3", "-std=c++17 -Wall"], ["-O3", "-std=c++17", "-Wall"]),
    ("host", ["-march=native", "-fopenmp", "-mavx2", "-mfma"], ["-march=native", "-fopenmp", "-mavx2", "-mfma"]),
    ("host", ["-std", "c++17"], ["-std=c++17"]),
    ("host", ["-D", "N=4", "-DM", "-U", "M"], ["-DN=4", "-DM", "-UM"]),
    ("host", ["-ffast-math -fno-math-errno", "-funroll-loops", "-fvisibility=hidden"],
     ["-ffast-math", "-fno-math-errno", "-funroll-loops", "-fvisibility=hidden"]),
    ("host", ["-Wno-deprecated-declarations", "-Werror", "-O2"], ["-Wno-deprecated-declarations", "-Werror", "-O2"]),
    ("host", ["-Wl,--no-as-needed", "-lcublas", "-L/usr/local/cuda/lib64", "-I/usr/local/cuda/include", "-isystem", "/usr/include", "-v", "-g"], []),
    ("host", ['"-O2"', "'-DA=1'"], ["-O2", "-DA=1"]),
    ("cuda", ["-O3", "--use_fast_math", "-use_fast_math"], ["-O3", "--use_fast_math", "-use_fast_math"]),
    ("cuda", ["--restrict", "-restrict", "-lineinfo", "--generate-line-info", "--extra-device-vectorization"],
     ["--restrict", "-restrict", "-lineinfo", "--generate-line-info", "--extra-device-vectorization"]),
    ("cuda", ["-std c++17", "--std", "c++17", "--std=c++20"], ["-std=c++17", "--std=c++17", "--std=c++20"]),
    ("cuda", ["-Xcompiler -O3", "-Xcompiler", "-fPIC,-Wall", "-Xcompiler=-O2", "--compiler-options '-fopenmp -O1'"],
     ["-Xcompiler=-O3", "-Xcompiler=-fPIC", "-Xcompiler=-Wall", "-Xcompiler=-O2", "-Xcompiler=-fopenmp", "-Xcompiler=-O1"]),
    ("cuda", ["-Xptxas -v", "-Xptxas", "-O3,-v", "--ptxas-options=-v", "-Xptxas=-dlcm=ca", "-Xptxas -warn-spills"],
     ["-Xptxas=-v", "-Xptxas=-O3", "-Xptxas=-v", "-Xptxas=-v", "-Xptxas=-dlcm=ca", "-Xptxas=-warn-spills"]),
    ("cuda", ["-gencode arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90", "-gencode", "arch=compute_70,code=compute_70",
              "-arch=sm_80", "-arch sm_90", "--gpu-architecture=sm_90a", "-code", "sm_90"], []),
    ("cuda", ["-maxrregcount=64", "-maxrregcount 32", "--maxrregcount", "128"], ["-maxrregcount=64", "-maxrregcount=32", "--maxrregcount=128"]),
    ("cuda", ["--ftz=true", "-ftz true", "--fmad=false", "--prec-div", "false"], ["--ftz=true", "-ftz=true", "--fmad=false", "--prec-div=false"]),
    ("cuda", ["-lcublas", "-l", "curand", "-v", "--verbose", "-g", "--threads 4", "-t", "2", "-rdc=false", "-cudart shared", "-lm"], []),
    ("cuda", ["-Xcudafe --diag_suppress=177", "-Xcudafe", "--display_error_number"], []),
    ("cuda", ["-diag-suppress 177", "--expt-relaxed-constexpr", "-Werror all-warnings"],
     ["-diag-suppress=177", "--expt-relaxed-constexpr", "-Werror=all-warnings"]),
    ("cuda", ["-U__CUDA_NO_HALF_OPERATORS__", "-w", "-Xlinker -rpath -Xlinker /usr/local/cuda/lib64", "-Xcompiler -Wl,--as-needed"],
     ["-U__CUDA_NO_HALF_OPERATORS__", "-w"]),
    ("linker", ["-O3", "-fopenmp", "-shared", "-Wl,-O1,--sort-common", "-Wl,-z,relro", "-Wl,-rpath,/usr/local/cuda/lib64",
                "-Wl,-rpath=/usr/local/cuda-12.4/lib64", "-L/usr/local/cuda/lib64/stubs", "-L", "/usr/lib/x86_64-linux-gnu", "-v", "-g",
                "-Wl,-rpath -Wl,/usr/lib", "-Xlinker", "--no-as-needed"], []),
]
LIBRARIES = "cublas cublasLt curand cusparse cusolver cufft cudnn cuda cudart m stdc++ pthread c10 torch torch_python".split()
# (list, what is given, what is named)
REFUSED = [
    *((where, [flag, value], f"{flag} {value}") for where in ("host", "cuda", "linker") for flag, value in
      (("-include", "/etc/passwd"), ("-B", "/tmp"), ("-wrapper", "x,y"), ("-x", "c"), ("-specs", "/tmp/s"), ("-I", "/tmp"), ("-L", "/tmp"))),
    *((where, [flag], flag) for where in ("host", "cuda", "linker") for flag in
      ("-specs=/tmp/s", "@file", "-fplugin=./x.so", "-fplugin-arg-x-y", "-B/tmp", "-I.", "-L../x", "-include/etc/passwd", "-xc", "-imacros",
       "/tmp/x.so", "x.o", "-DX=$(id)", "-DX=`id`", "-DX=/etc/passwd", "-fuse-ld=/tmp/ld", "-fprofile-use=/tmp/x", ";", "|", "-fdump-tree-all",
       "-Wp,-MD,/tmp/x", "-Wa,-I/tmp", "-L/usr/local/cuda/../../../tmp", "-lunknown", "-l:libevil.so", "-Wl,--wrap=malloc", "-Wl,-T,script",
       "-Wl,--version-script=x", "-Wl,@file", "-Wl,-rpath,$ORIGIN")),
    ("cuda", ["-ccbin", "/tmp/g++"], "-ccbin /tmp/g++"),
    ("cuda", ["--options-file", "x"], "--options-file x"),
    ("cuda", ["-Xcompiler -include,/etc/passwd"], "-include /etc/passwd"),
    ("cuda", ["-Xcompiler", "-fplugin=x"], "-Xcompiler -fplugin=x"),
    ("cuda", ["-Xptxas --options-file=x"], "-Xptxas --options-file=x"),
    ("cuda", ["-Xlinker --wrap=x"], "-Wl,--wrap=x"),
    ("linker", ["-Xlinker", "-T"], "-Wl,-T"),
    ("linker", ["-Wl,-rpath", "-Wl,/tmp"], "-Wl,-rpath,/tmp"),
]


class Flags(unittest.TestCase):
    def test_what_is_kept(self):
        for where, given, kept in KEPT:
            found = flags.Flags(given, where)
            self.assertEqual((found.kept, found.refused), (kept, []), (where, given))
            joined = flags.Flags(" ".join(given), where)
            self.assertEqual((joined.kept, joined.refused), (kept, []), (where, given))

    def test_libraries(self):
        for name in LIBRARIES:
            for given in (["-l" + name], ["-l", name], ["-l" + name, "", None, "-l" + name]):
                self.assertEqual((flags.Flags(given, "linker").libraries, flags.Flags(given, "linker").refused), ([name], []), given)
                for where in ("host", "cuda"):
                    found = flags.Flags(given, where)
                    self.assertEqual((found.kept, found.libraries, found.refused), ([], [], []), (where, given))

    def test_what_is_refused(self):
        for where, given, named in REFUSED:
            found = flags.Flags(["-O3", *given, "-O2"], where)
            self.assertEqual(found.kept, [] if where == "linker" else ["-O3", "-O2"], (where, given))
            self.assertTrue(any(named in one for one in found.refused), (where, given, found.refused))

        for flag in ("-Xlinker", "-Xcompiler", "-I", "-l"):
            self.assertEqual(flags.Flags([flag], "cuda").refused, [flag])

    def test_folders(self):
        import torch.utils.cpp_extension as torchs
        self.assertEqual(flags.refused_folders([*torchs.include_paths("cpu"), "", None, "/usr/local/cuda/include"]), [])
        self.assertEqual(flags.refused_folders(["/tmp", "include"]), ["/tmp", "include"])


if __name__ == "__main__":
    unittest.main()
