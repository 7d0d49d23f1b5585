#pragma once
// In how many words a policy is asked, where the config leaves that to the model.

namespace temper::trainer {

struct RunConfig;

// Decides rollout.prompt.style where it is auto: short for a new policy and for a model whose tokenizer Temper trained,
// which knows the short form alone; sentences for every other model, also for one that is not here. model.path may name
// a run.
void decide_prompt_style(RunConfig& config);

}  // namespace temper::trainer
