"""Flags of extensions, as torch hands them to g++, to nvcc and to the linker: which are kept, which change nothing and are left out, and which
are refused. torch joins each list with blanks for a shell, so that one text may hold several flags and a flag may be two texts."""
import os
import re
import shlex

import torch.utils.cpp_extension as torch_extension

VALUE = r"\w[\w.,+-]*"
MACROS = r"-D\w+(=[\w.+-]*)?|-U\w+"
# A host compiler's flags that say how code is made, and nothing of files.
HOST = re.compile(rf"{MACROS}|-O([0-3sgz]|fast)?|--?std=(c|gnu)\+\+\w\w|-w|-W[a-z][\w=+-]*|-pedantic|-ansi|-pthread|-fPIC|-fpic|"
                  r"-m(arch|tune|cpu)=[\w.+-]+|-m(no-)?(avx|sse|fma|f16c|bmi|popcnt|lzcnt|aes|adx|abm|movbe|mmx|prefer-vector-width=)[\w.-]*|-m64|"
                  r"-f(visibility|excess-precision|fp-contract|abi-version|vect-cost-model|simd-cost-model|max-errors|template-depth|"
                  r"constexpr-depth|diagnostics-color|tls-model|inline-limit|strict-aliasing|wrapv|openmp-simd)=[\w-]+|-f(no-)?[a-z][a-z0-9-]*")
WITH_FILES = re.compile(r"-f(no-)?(plugin|dump|profile|auto-profile|branch-prob|test-coverage|use-ld|compare-debug|sanitize|module|working-dir|"
                        r"save|stack-usage|callgraph|opt-info|syntax-only|lto|preprocessed|directives-only|pch|sycl|offload|cf-protection).*")
# nvcc's own. --use_fast_math does not change what is right.
CUDA = re.compile(rf"{MACROS}|-O[0-3]|--?std=c\+\+\w\w|-w|-W[a-z][\w=-]*|-G|--device-debug|--?(use_fast_math|lineinfo|generate-line-info|restrict|"
                  r"extra-device-vectorization|expt-relaxed-constexpr|expt-extended-lambda|extended-lambda|disable-warnings|"
                  r"allow-unsupported-compiler|forward-unknown-to-host-compiler|ftz=\w+|prec-div=\w+|prec-sqrt=\w+|fmad=\w+|"
                  r"maxrregcount=\d+|optimize=\d|Ofast-compile=\w+|Werror=[\w,-]+|diag[-_](suppress|warn)=[\w,]+)")
ASSEMBLER = re.compile(r"-v|--verbose|-w|-O[0-4]|--?(opt-level=\d|dlcm=\w+|dscm=\w+|def-(load|store)-cache=\w+|(warn|suppress)-[\w-]+|"
                       r"allow-expensive-optimizations=\w+|maxrregcount=\d+|fmad=\w+|register-usage-level=\d+|disable-optimizer-constants)")
# What says nothing of the result: words of compilers, what is there anyway, and for which machine it is, which is known.
IDLE_HOST = re.compile(r"-v|-g[\w-]*|-pipe|-c|-s|-shared|-static-lib(gcc|stdc\+\+)|--?verbose|-no-pie|-rdynamic")
IDLE_CUDA = re.compile(r"-v|-g|-c|-s|--?(verbose|debug|keep|resource-usage|res-usage|source-in-ptx|src-in-ptx|shared|compile|m64|"
                       r"display-error-number|no-display-error-number|split-compile=\d+)|--?t(hreads)?=?\d+|--?cudart=\w+|"
                       r"--?(rdc|relocatable-device-code)=\w+|--?(gencode|arch|gpu-architecture|generate-code|code|gpu-code)=.*")
IDLE_LINKER = re.compile(r"-{1,2}(no-as-needed|as-needed|O\d?|sort-common|strip-all|strip-debug|s|export-dynamic|gc-sections|no-gc-sections|"
                         r"exclude-libs[,=]ALL|Bsymbolic|Bsymbolic-functions|(no-)?allow-shlib-undefined|no-undefined|enable-new-dtags|"
                         r"disable-new-dtags|build-id(=\w+)?|hash-style=\w+|(start|end)-group|no-whole-archive|copy-dt-needed-entries|"
                         r"no-copy-dt-needed-entries|z[,=]?\w+|E|Bdynamic|warn-common|relax)")
IDLE_FRONT_END = re.compile(r"--(diag_(suppress|warning|remark|default)=[\w,]+|display_error_number|no_warnings)")
# Their value may be the next text.
IDLE_WITH_VALUE = frozenset("""-gencode --generate-code -arch --gpu-architecture -code --gpu-code -t --threads -threads -cudart --cudart -rdc --rdc
-relocatable-device-code --relocatable-device-code -split-compile --split-compile""".split())
JOINED_WITH_VALUE = frozenset("""-std --std -ftz --ftz -prec-div --prec-div -prec-sqrt --prec-sqrt -fmad --fmad -maxrregcount --maxrregcount --optimize
-diag-suppress --diag-suppress -diag-warn --diag-warn -Werror --Werror""".split())
PASSED_ON = {"-Xcompiler": "host", "--compiler-options": "host", "-Xptxas": "assembler", "--ptxas-options": "assembler",
             "-ptxas-options": "assembler", "-compiler-options": "host", "-Xcudafe": "front_end", "-Xlinker": "linker",
             "--linker-options": "linker", "-linker-options": "linker"}
FOLDERS = ("-L", "-I", "-isystem", "-iquote", "-idirafter", "--library-path", "--include-path", "--system-include")
OTHERS_WITH_VALUE = frozenset("""-include --include -imacros -x --x -B -specs -wrapper -ccbin --compiler-bindir -o --output-file -T -e -u -z -optf
--options-file -aux-info -imultilib -isysroot --sysroot -iprefix -iwithprefix -MF -MT -MQ -Xassembler -Xpreprocessor -Xnvlink -Xarchive -Xfatbin
--nvlink-options -odir --output-directory --keep-dir -keep-dir -ldir -idp --default-stream -default-stream""".split())
LIBRARIES = frozenset("""cuda cudart cudart_static cudadevrt cublas cublasLt curand cusparse cusparseLt cusolver cusolverMg cufft cudnn nvrtc nvrtc-builtins
nvToolsExt nvjitlink nvJitLink nccl cupti m stdc++ pthread dl rt util c gcc gcc_s gomp c10 c10_cuda torch torch_cpu torch_cuda torch_python""".split())


def texts_of(flags):
    """The flags of a list, or of one text, as a shell would cut them."""
    for text in [flags] if isinstance(flags, str) else flags or ():
        if text is None:
            continue
        text = str.__str__(text) if isinstance(text, str) else str(text)
        try:
            yield from (one for one in shlex.split(text) if one)
        except ValueError:
            yield from text.split()


def own_folders():
    """Whose files are the compilers' anyway."""
    torchs = os.path.dirname(os.path.dirname(torch_extension.__file__))
    return tuple(os.path.realpath(one) for one in
                 (torch_extension.CUDA_HOME, "/usr/local/cuda", "/usr/include", "/usr/lib", "/usr/local/include", "/usr/local/lib", "/lib", "/lib64",
                  torchs, os.path.join(os.path.dirname(torchs), "nvidia")) if one)


def is_own(folder):
    path = os.path.realpath(folder)
    return os.path.isabs(folder) and any(path == one or path.startswith(one + "/") for one in own_folders()) or \
        re.match(r"/usr/local/cuda(-[\d.]+)?(/|$)", os.path.normpath(folder)) is not None


class Flags:
    """Those of one list. `kept` are for the compiler, `libraries` for the linker; `refused` are those that may not be given."""

    def __init__(self, flags, compiler):
        """`compiler`: "host", "cuda" or "linker"."""
        self.kept, self.libraries, self.refused = [], [], []
        self.left, self.compiler = list(texts_of(flags)), compiler
        while self.left:
            self.take(self.left.pop(0))

    def value(self, flag):
        """What follows the flag, or nothing."""
        if not self.left:
            self.refused.append(flag)
            return None
        return self.left.pop(0)

    def take(self, flag):
        name, equals, value = flag.partition("=")
        folder = next((one for one in FOLDERS if flag.startswith(one)), None)
        if name in PASSED_ON and (self.compiler == "cuda" or PASSED_ON[name] == "linker"):
            value = value if equals else self.value(flag)
            if value is not None:
                self.pass_on(name, PASSED_ON[name], value)
        elif flag.startswith("-Wl,"):
            self.linkers(flag)
        elif self.compiler == "cuda" and flag in IDLE_WITH_VALUE:
            self.value(flag)
        elif flag in JOINED_WITH_VALUE and not (flag == "-Werror" and self.compiler == "host") and self.left and re.fullmatch(VALUE, self.left[0]):
            self.take(f"{flag}={self.left.pop(0)}")
        elif flag in ("-D", "-U") and self.left:
            self.take(flag + self.left.pop(0))
        elif folder:
            self.folder(flag, flag[len(folder):].lstrip("=") or self.value(flag))
        elif re.fullmatch(r"-l[\w+:.-]*|--library(=.*)?", flag) and not CUDA.fullmatch(flag):
            self.library(flag)
        else:
            self.plain(flag)

    def plain(self, flag):
        if self.is_idle(flag):
            return
        if self.is_kept(flag):
            self.kept.append(flag)
            return
        if flag in OTHERS_WITH_VALUE and self.left and not self.left[0].startswith("-"):
            flag += " " + self.left.pop(0)
        self.refused.append(flag)

    def is_idle(self, flag):
        if self.compiler == "cuda":
            return IDLE_CUDA.fullmatch(flag) is not None
        # The linker's driver takes what the compiler takes, and nothing is left to compile.
        return IDLE_HOST.fullmatch(flag) is not None or self.compiler == "linker" and is_host(flag)

    def is_kept(self, flag):
        """g++ and nvcc say themselves what they do not know of each other's."""
        return self.compiler != "linker" and (CUDA.fullmatch(flag) is not None or is_host(flag))

    def pass_on(self, name, tool, value):
        """What nvcc hands to another tool: several words with commas or blanks between them."""
        if tool == "linker" or value.startswith("-Wl,"):
            self.linkers(value if value.startswith("-Wl,") else "-Wl," + value)
        elif tool == "front_end":
            if not IDLE_FRONT_END.fullmatch(value):
                self.refused.append(f"{name} {value}")
        elif tool == "host":
            inner = Flags([value.replace(",", " ")], "host")
            self.kept += [f"-Xcompiler={one}" for one in inner.kept]
            self.refused += [f"{name} {one}" for one in inner.refused]
        else:
            words = [one for one in re.split(r"[, ]+", value) if one]
            self.kept += [f"-Xptxas={one}" for one in words if ASSEMBLER.fullmatch(one)]
            self.refused += [f"{name} {one}" for one in words if not ASSEMBLER.fullmatch(one)]

    def linkers(self, flag):
        """-Wl,…: words for the linker, one of which may be the value of the one before."""
        words = flag.split(",")[1:]
        while words:
            word = words.pop(0)
            if path := re.fullmatch(r"(-rpath|--rpath|-rpath-link|--rpath-link|-R)(=(.*))?|-L(.*)", word):
                given = path[3] or path[4] or (words.pop(0) if words else self.following())
                if not is_own(given):
                    self.refused.append(f"-Wl,{word.partition('=')[0]},{given}")
            elif word in ("-z", "--exclude-libs"):
                words or self.following()
                words = words[1:]
            elif re.fullmatch(r"-l[\w+.-]+", word):
                self.library(word)
            elif not IDLE_LINKER.fullmatch(word):
                self.refused.append(f"-Wl,{','.join([word, *words])}")
                return

    def following(self):
        """The value of a word for the linker in the next text, behind its own -Xlinker or -Wl."""
        if self.left and self.left[0] in ("-Xlinker", "--linker-options"):
            self.left.pop(0)
        return self.left.pop(0).removeprefix("-Wl,").removeprefix("-Xlinker=") if self.left else ""

    def folder(self, flag, path):
        if path is not None and not is_own(path):
            self.refused.append(flag if flag.endswith(path) else f"{flag} {path}")

    def library(self, flag):
        """Compilers that do not link make nothing of a library's name."""
        given = flag[2:] if not flag.startswith("--") else flag.partition("=")[2]
        name = given or self.value(flag)
        if name is None:
            return
        plain = re.sub(r"^:?lib|\.(so|a)[\d.]*$", "", name) if name.startswith(":") else name
        if plain not in LIBRARIES:
            self.refused.append(f"-l{name}")
        elif self.compiler == "linker" and plain not in self.libraries:
            self.libraries.append(plain)


def is_host(flag):
    return HOST.fullmatch(flag) is not None and WITH_FILES.fullmatch(flag) is None


def refused_folders(paths):
    """Include paths that lead to files which are not the compilers'."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths or ()
    return [str(one) for one in given if str(one or "").strip() and not is_own(str(one))]


def words_of(refused, compiler):
    """One sentence."""
    if compiler == "linker":
        return f"{refused} may not be given to the linker; the libraries that torch brings may, such as -lcublas"
    return f"the flag {refused} may not be given to the compiler; -D, -O, -std, --use_fast_math and -lineinfo may"
