#pragma once
// The long form of a message: what there is to say of a failure, over several lines, for policies whose
// context has room for it. Every line is scrubbed as a message is (env/verdict/message.h).

#include <chrono>
#include <string>
#include <string_view>

#include "env/call/mismatch_report.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper {

// All that a compiler said, its errors with their line numbers and the source that they are about: "line 7:
// error: …". The candidate's own file is not named. What is quoted of it is taken from `source`: g++ quotes
// the file as it lies there, where our own lines stand in front.
std::string compiler_details(std::string_view diagnostics, std::string_view source);

// How many elements of each output are wrong, how far off, how many of them are NaN, infinite or unwritten;
// the first and the worst of them. The shape is not told. Nothing in the report is believed to be in range.
std::string mismatch_details(const Task& task, const Shape& shape, const MismatchReport& report);

// At which of the task's sizes a call failed (`shape`: a check shape's index, else the timed one), and for a
// timeout how long all calls together may take.
std::string call_details(const Task& task, int32_t shape, const std::string& reason,
                         std::chrono::nanoseconds budget);
std::string compile_time_details(std::chrono::milliseconds limit);

// Kind and reason in words, then `lines`, at most kMaxDetailsBytes; "" without lines.
std::string verdict_details(const Verdict& verdict, std::string_view lines);

// Whole lines from the beginning and from the end, and between them a line that says how many bytes are left
// out. Where not even one line fits it is cut. At most `max_bytes`, unless that line alone is longer.
std::string cut_in_the_middle(std::string_view text, size_t max_bytes);

}  // namespace temper
