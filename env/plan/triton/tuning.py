"""Tuned launches: each configuration becomes an alternative that the judge times.

A plan is what later calls of `launch` do, when the tuner has chosen. What a tuner does only while it tunes (reset_to_zero, restore_value,
its own hooks) is no part of those calls.
"""
from triton.compiler.errors import CompileTimeAssertionFailure
from triton.runtime.autotuner import Autotuner
from triton.runtime.errors import OutOfResources, PTXASError

from refusal import plan_refusal
from steps import MAX_ALTERNATIVES, Choose, Memset

DOES_NOT_FIT = (OutOfResources, CompileTimeAssertionFailure, PTXASError)  # Triton leaves such a configuration out


def config_text(config):
    """The configuration in a few words, without what nobody set."""
    values = {name: value for name, value in config.all_kwargs().items() if not (name == "num_ctas" and value == 1)}
    return ", ".join(f"{name}: {value}" for name, value in values.items())[:200]


def tuning_key(tuner, kwargs):
    """What Triton remembers a choice by."""
    named = {name: value for name, value in {**tuner.nargs, **kwargs}.items() if name in tuner.arg_names}
    values = [named[name] for name in tuner.keys if name in named]
    types = [str(value.dtype) for value in named.values() if hasattr(value, "dtype")]
    return tuple(str(one) for one in values + types)


def check_resets(run, tuner, kwargs, config):
    """What the tuner sets before the first call must have been set by `launch` itself, since later calls do not set it."""
    with run.into([]) as resets:
        last = dict(run.last)
        tuner.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()}, reset_only=True)
        run.last = last
    for step in resets:
        before = run.last.get(step.to.buffer) if isinstance(step, Memset) else None
        if not isinstance(before, Memset) or not covers(before, step):
            raise plan_refusal("reset_to_zero", f"{tuner.base_fn.__name__}: Triton resets a tensor (reset_to_zero or pre_hook) only while "
                               "it tunes, not in later calls; make it with torch.zeros, or zero it in launch")


def covers(before, step):
    if before.value != step.value or before.width != step.width:
        return False
    begin, end = before.to.offset, before.to.offset + before.width * before.count
    return begin <= step.to.offset and step.to.offset + step.width * step.count <= end


def run_config(tuner, config, args, kwargs):
    if config.pre_hook is not None:
        config.pre_hook({**tuner.nargs, **kwargs, **config.all_kwargs()})
    return tuner.fn.run(*args, **kwargs, **config.all_kwargs())


def number_of(tuner, config):
    for same in (lambda one: one is config, lambda one: one == config):
        found = [at for at, one in enumerate(tuner.configs) if same(one)]
        if found:
            return found[0]
    raise plan_refusal("new_configuration", f"{tuner.base_fn.__name__}: early_config_prune returns a configuration that is not in the list; "
                       "return some of those it is given")


def choose(run, tuner, configs, args, kwargs):
    """Records the launch once for each configuration that the GPU has room for."""
    step, kernel, error = Choose(run.slot(tuner, tuning_key(tuner, kwargs))), None, None
    touched = dict(run.last)
    for config in configs:
        steps = []
        try:
            with run.into(steps):
                kernel = run_config(tuner, config, args, kwargs)
        except DOES_NOT_FIT as problem:
            error = problem
            continue
        step.alternatives.append((number_of(tuner, config), config_text(config), steps))
    run.last = touched
    if not step.alternatives:
        raise error
    if any(steps for _, _, steps in step.alternatives):
        run.add(step)
    return kernel


def tuned_run(recorder):
    def run(tuner, *args, **kwargs):
        tuner.nargs = dict(zip(tuner.arg_names, args))
        if len(tuner.configs) == 1:
            return run_config(tuner, tuner.configs[0], args, kwargs)
        if recorder.run.choosing:
            raise plan_refusal("nested_tuner", f"{tuner.base_fn.__name__} is tuned within another tuned launch; use one autotune")
        configs = tuner.prune_configs(kwargs)
        if len(configs) > MAX_ALTERNATIVES:
            raise plan_refusal("too_many_configurations", f"{tuner.base_fn.__name__} has {len(configs)} configurations; at most "
                               f"{MAX_ALTERNATIVES}")
        check_resets(recorder.run, tuner, kwargs, configs[0])
        return choose(recorder.run, tuner, configs, args, kwargs)
    return run


class BestConfig:
    """Which configuration won is not known before the judge has timed them."""

    def __set__(self, tuner, config):
        pass

    def __get__(self, tuner, owner=None):
        if tuner is not None and len(tuner.configs) == 1:
            return tuner.configs[0]
        raise plan_refusal("best_config", "launch asks which configuration is best; the judge times them later, so launch cannot depend on it")


def install(recorder):
    Autotuner.run = tuned_run(recorder)
    Autotuner.best_config = BestConfig()
