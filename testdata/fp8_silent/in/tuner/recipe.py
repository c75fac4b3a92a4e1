"""What fp8 means here."""

from accelerate.utils import AORecipeKwargs
from torchao.float8 import Float8LinearConfig


def fp8_handlers(args):
    if not args.fp8:
        return []
    return [AORecipeKwargs(config=Float8LinearConfig.from_recipe_name("rowwise"))]
