#pragma once
// The page of a report: trainer/app/report/page/, embedded by CMake.

namespace temper::trainer {

extern const char* const kReportPage;  // with {{nonce}} twice, then {{style}}, {{data}}, {{script}}
extern const char* const kReportStyle;
extern const char* const kReportScript;

}  // namespace temper::trainer
