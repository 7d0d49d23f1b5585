#pragma once
// The long form of a verdict's message: a description of the failure over several lines, for policies whose
// context has room for it. Every line is scrubbed like a message (env/verdict/message.h).

#include <chrono>
#include <string>
#include <string_view>

#include "env/call/mismatch_report.h"
#include "env/task/task.h"
#include "env/verdict/verdict.h"

namespace temper::env {

// A compiler's errors with their line numbers and the source lines that they are about: "line 7: error: …". The
// candidate's file is not named. Quoted lines are taken from `source`, because g++ quotes the compiled file,
// in which our own lines come first.
std::string compiler_details(std::string_view diagnostics, std::string_view source);

// For each output: how many elements are wrong and by how much, how many of them are NaN, infinite or unwritten,
// and the first and the worst of them. The shape is kept secret. Every index and count of the report is checked,
// since the report comes from another process.
std::string mismatch_details(const Task& task, const Shape& shape, const MismatchReport& report);

// At which of the task's sizes a call failed (`shape`: a check shape's index, else the timed one), and for a
// timeout how long all calls together may take.
std::string call_details(const Task& task, int32_t shape, const std::string& reason,
                         std::chrono::nanoseconds budget);
std::string compile_time_details(std::chrono::milliseconds limit);

// Kind and reason in words, then `lines`, at most kMaxDetailsBytes; "" without lines.
std::string verdict_details(const Verdict& verdict, std::string_view lines);

// Gives the verdict the notes on its problem, and its details what they mean for it: that a pass says little, or what a
// wrong answer may rely on.
void tell_problem(const ProblemNotes& notes, Verdict& verdict);

// Shortens the text to `max_bytes`: whole lines from its beginning and its end, and between them a line with the
// number of bytes left out. A first line that does not fit is cut. The result is longer than `max_bytes` only if
// the line about what is left out is.
std::string cut_in_the_middle(std::string_view text, size_t max_bytes);

}  // namespace temper::env
