"""A value model, which is built without a policy."""

from torch import nn

from .base import Engine


class ValueEngine(Engine):
    def build(self, model: nn.Module) -> nn.Module:
        return model.cuda()
