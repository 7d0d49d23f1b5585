#pragma once
// How long eager takes at each timed shape of a GPU task, by the oracle of the GPU's judge.

#include <functional>

#include "env/admission/admission.h"

namespace temper::env {

// Fills in eager_us of the rows without problems, and what is wrong with the time at any timed shape. `timed` is called
// once a row. Errors: WorldError if the oracle dies. A task that the GPU's memory does not hold is a row with that
// problem.
void time_eager(int gpu, const std::vector<Task>& tasks, std::vector<Admission>& rows,
                const std::function<void()>& timed);

}  // namespace temper::env
