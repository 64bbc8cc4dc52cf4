"""A model of transformers whose weights are read by tensorcast, from any layout that it reads.

    python examples/python/transformers_model.py CHECKPOINT

SPDX-License-Identifier: Apache-2.0
"""

import sys

import tensorcast as tc
import torch
import transformers


def from_checkpoint(path, dtype=torch.bfloat16):
    config = transformers.AutoConfig.from_pretrained(path)
    config.__dict__.pop("quantization_config", None)  # the weights come with their scales applied
    kind = getattr(transformers, config.architectures[0])  # the class that saved them
    model, report = kind.from_pretrained(None, config=config, dtype=dtype, output_loading_info=True,
                                         state_dict=tc.load_file(path, dtype, framework="pt"))
    if any(report.values()):
        raise ValueError(f"{path} does not fit {kind.__name__}: {report}")
    return model


if __name__ == "__main__":
    print(from_checkpoint(sys.argv[1]))
