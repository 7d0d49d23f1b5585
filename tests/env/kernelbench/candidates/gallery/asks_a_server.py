# problem: level1/3_row_softmax.py
# backend: cuda
# strict: REJECT_POLICY import
# ungated: FAIL_INCORRECT | FAIL_RUNTIME
# comparable: incorrect
# why: Asks a server on this machine and one by name for the result.
# needs: box
import socket

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for host, port in (('127.0.0.1', 10907), ('10.0.0.1', 80), ('results.example', 80)):
            try:
                socket.create_connection((host, port), timeout=0.2).sendall(b'result?')
            except OSError:
                pass
        return torch.zeros_like(x)
