"""What is read of CUPTI's records, from a library that writes them as CUPTI's own header lays them out."""
import ctypes
import pathlib
import subprocess
import sys
import tempfile
import unittest

import module_judge  # noqa: F401
import torch  # noqa: F401

import cupti

RECORDS = r"""
#include <cupti.h>
#include <string.h>

static CUpti_BuffersCallbackRequestFunc give;
static CUpti_BuffersCallbackCompleteFunc take;
static struct { CUpti_ActivityMemcpy6 copy; CUpti_ActivityOverhead3 other; CUpti_ActivityKernel10 kernel; CUpti_ActivityMemset4 memset; } records;
static void* all[] = {&records.copy, &records.other, &records.kernel, &records.memset};
static int next, enabled, forced;

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc g, CUpti_BuffersCallbackCompleteFunc t) {
  give = g, take = t;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMSET) ++enabled;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) { --enabled; return CUPTI_SUCCESS; }
CUptiResult cuptiActivityFlushAll(uint32_t flag) {
  if (enabled != 3 || flag != CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) return CUPTI_ERROR_UNKNOWN;
  uint8_t* buffer; size_t bytes, most;
  give(&buffer, &bytes, &most);
  records.copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY, records.copy.start = 1000, records.copy.end = 3500;
  records.other.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  records.kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, records.kernel.start = 4000, records.kernel.end = 11000;
  records.kernel.name = "_Z4ropei";
  records.memset.kind = CUPTI_ACTIVITY_KIND_MEMSET, records.memset.start = 12000, records.memset.end = 12500;
  next = 0;
  take(0, 0, buffer, bytes, sizeof records);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  if (next == 4) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = all[next++];
  return CUPTI_SUCCESS;
}
int left_enabled(void) { return enabled; }
"""


def headers():
    """Folders of CUPTI's headers and CUDA's, where there are some."""
    for folder in ("/usr/local/cuda/include", "/usr/local/cuda/extras/CUPTI/include"):
        if pathlib.Path(folder, "cupti.h").exists():
            return [folder, "/usr/local/cuda/include"]
    return []


@unittest.skipUnless(headers(), "no cupti.h")
class Records(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        source, library = pathlib.Path(cls.folder.name, "records.c"), pathlib.Path(cls.folder.name, "records.so")
        source.write_text(RECORDS)
        subprocess.run(["gcc", "-shared", "-fPIC", *(f"-I{folder}" for folder in headers()), source, "-o", library], check=True)
        cls.library = ctypes.CDLL(str(library))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_names_and_times(self):
        recorder, ran = cupti.Recorder(self.library), []
        for _ in range(2):
            self.assertEqual(recorder.record(lambda: ran.append(1)), [("Memcpy", 2.5), ("_Z4ropei", 7.0), ("Memset", 0.5)])
        self.assertEqual((len(ran), self.library.left_enabled(), recorder.buffers), (2, 0, {}))

    def test_what_fails_is_named(self):
        recorder = cupti.Recorder(self.library)
        self.addCleanup(setattr, cupti, "FORCED", cupti.FORCED)
        cupti.FORCED = 0
        with self.assertRaisesRegex(RuntimeError, "cuptiActivityFlushAll fails with error"):
            recorder.record(lambda: None)
        for kind in cupti.KINDS:
            self.library.cuptiActivityDisable(kind)


if __name__ == "__main__":
    if not headers():
        print("skipped: no cupti.h")
        sys.exit(77)
    unittest.main()
