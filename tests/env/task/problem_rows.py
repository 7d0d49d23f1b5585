#!/usr/bin/env python3
"""Writes 1,000 rows in the form of each published set of problems in PyTorch, made up here: most are problems, some have a fault.

    problem_rows.py FOLDER
"""
import json
import pathlib
import sys

ROWS = 1000
OPERATORS = ("relu", "tanh", "sigmoid", "exp", "abs", "sin", "cos", "erf", "square", "neg")


def source(number, name="Model", more=""):
    """A problem that differs from all others."""
    operator = OPERATORS[number % len(OPERATORS)]
    return (f"import torch\nimport torch.nn as nn\n{more}\n\nclass {name}(nn.Module):\n    def __init__(self):\n        super().__init__()\n\n"
            f"    def forward(self, x):\n        return torch.{operator}(x) * {number}\n\n\ndef get_inputs():\n    return [torch.rand(4, {number + 1})]"
            "\n\n\ndef get_init_inputs():\n    return []\n")


# Row → the fault that is put into it; the others are whole.
FAULTS = {10: "empty", 20: "no class", 21: "no class", 30: "no inputs", 40: "no syntax", 41: "no syntax", 42: "no syntax", 50: "copy"}
LEFT_OUT = len(FAULTS)


def text_of(number, name="Model"):
    fault = FAULTS.get(number)
    text = source(1 if fault == "copy" else number, "Model" if fault == "copy" else name)
    return {"empty": "", "no class": text.replace(f"class {name}", "class Gone"), "no inputs": text.replace("def get_inputs", "def inputs"),
            "no syntax": text + "def broken(:\n"}.get(fault, text)


def kernelbench(i):
    return {"code": text_of(i), "level": 1 + i % 3, "name": f"{i}_{OPERATORS[i % 10]}", "problem_id": i}


def kernelbook(i):
    name = "Model" if FAULTS.get(i) == "copy" or i == 1 else f"Layer{i}"
    return {"entry_point": name, "module_name": f"Layer{i}", "python_code": text_of(i, name), "triton_code": "import triton\n", "uuid": i,
            "repo_name": "made/up", "synthetic": False}


def drkernel(i):
    return {"data_source": "cuda_llm", "prompt": [{"role": "user", "content": "Write a kernel."}], "ability": "kernel_optimization",
            "reward_model": {"ground_truth": text_of(i), "style": "rule"}, "extra_info": {"entry_point": "Model", "level": 0, "uuid": str(i)}}


def cudallm(i):
    text = text_of(i)
    return {"data_source": "cuda_llm", "prompt": [{"role": "user", "content": f"Make it fast:\n```python\n{text}```\n"}],
            "reward_model": {"ground_truth": json.dumps({"code": text, "tests": []}) if i % 2 else text, "style": "rule"}, "extra_info": {"index": i}}


def cuda_agent(i):
    return {"ops": json.dumps([f"torch.{OPERATORS[i % 10]}", "torch.nn.Linear"]), "data_source": f"torch#{1 + i % 5}", "code": text_of(i)}


def engineer(i):
    return {"Op_Name": f"{i}_{OPERATORS[i % 10]}", "Level_ID": 1 + i % 3, "Task_ID": i, "Kernel_Name": f"{i}_v{i % 7}", "CUDA_Runtime": 0.5,
            "CUDA_Code": "#include <torch/extension.h>\n", "PyTorch_Code_Module": text_of(i), "PyTorch_Code_Functional": "def module_fn(x):\n    return x\n",
            "Correct": True, "NCU_Profile": None}


def robust(i):
    return {"task_name": f"{OPERATORS[i % 10]}_{i}", "level": 1, "task_id": i, "pytorch_code_module": text_of(i)}


def generic(i):
    return {"id": i, "title": f"problem {i}", "meta": {"difficulty": ("easy", "hard")[i % 2]}, "solution": "", "body": "Given:\n\n```python\n" + text_of(i) + "```\n"}


SHAPES = {"kernelbench": kernelbench, "kernelbook": kernelbook, "drkernel": drkernel, "cudallm": cudallm, "cuda_agent": cuda_agent,
          "engineer": engineer, "robust": robust, "generic": generic}


def rows(shape):
    return [SHAPES[shape](i) for i in range(1, ROWS + 1)]


def write(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for shape in SHAPES:
        (folder / f"{shape}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(shape)))


if __name__ == "__main__":
    write(sys.argv[1])
