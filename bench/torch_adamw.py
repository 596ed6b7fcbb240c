"""The fastest AdamW that a PyTorch has for the CPU: since 2.4 or so all of an
update is one kernel, before it is several a tensor."""
import torch


def adamw(parameters, **kwargs):
    parameters = list(parameters)
    try:
        return torch.optim.AdamW(parameters, fused=True, **kwargs)
    except (TypeError, RuntimeError):
        return torch.optim.AdamW(parameters, **kwargs)
