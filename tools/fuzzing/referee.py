# SPDX-License-Identifier: BSL-1.0
"""Recipes evaluated by JAX, in double: the second opinion of tools/referee."""
import jax
import jax.numpy as jnp
from jax.scipy.special import erf, logsumexp

from . import numbers as n
from .numbers import Tensor, count
from .operations import ALONG, UNARY

jax.config.update("jax_enable_x64", True)

KINDS = {"r": jnp.float64, "i": jnp.int64, "b": jnp.bool_}


def array_of(x):
    return jnp.array([n.plain(a) for a in x.at], KINDS[x.kind]).reshape(x.shape)


def tensor_of(y):
    kind = "b" if y.dtype == jnp.bool_ else "i" if jnp.issubdtype(y.dtype, jnp.integer) else "r"
    return Tensor(y.shape, [a.item() for a in y.reshape(-1)], kind)


def reduction(f):
    return (lambda of, has: f(of[0]),
            lambda of, has: f(of[0], axis=tuple(has["axes"]), keepdims=bool(has["keep"])) if len(has["axes"]) else of[0])


def indexed(index):
    return lambda of, has: of[0][(slice(None),) * has["axis"] + (index(has),)]


def split(of, has):
    return jnp.split(of[0], [sum(has["sizes"][:k]) for k in range(1, len(has["sizes"]))], axis=has["axis"])


def scatter_add(of, has):
    x, i = of
    return jnp.zeros((has["rows"], *x.shape[i.ndim:])).at[i].add(x)


def batch_take(x, i):
    return jnp.take_along_axis(x, i[..., None], axis=-1)[..., 0]


def images(f):
    """Images without a batch get one."""
    def of_any(of, has):
        x = of[0]
        y = f([x if x.ndim == 4 else x[None], *of[1:]], has)
        return y if x.ndim == 4 else y[0]
    return of_any


def conv2d(of, has):
    pad = (has["padding"], has["padding_end"])
    return jax.lax.conv_general_dilated(of[0], of[1], (has["stride"],) * 2, (pad, pad), rhs_dilation=(has["dilation"],) * 2,
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=has["groups"])


def pool(start, f):
    def of_image(of, has):
        pad = (has["padding"], has["padding_end"])
        return jax.lax.reduce_window(of[0], start, f, (1, has["window"], has["window"], 1), (1, has["stride"], has["stride"], 1),
                                     ((0, 0), pad, pad, (0, 0)))
    return of_image


def average(of, has):
    total = pool(0.0, jax.lax.add)
    return total(of, has) / total([jnp.ones_like(of[0])], has)


def constant(value):
    """What does not depend on real operands: by the oracle."""
    return lambda of, has: array_of(value([tensor_of(of[0])], has))


def dropout(of, has):
    x, key = of
    kept = [0.0 if n.random_uniform(int(key), k, has["bits"]) < has["by"] else 1 / (1 - has["by"]) for k in range(x.size)]
    return x * jnp.array(kept).reshape(x.shape)


def found(name):
    """JAX's function of this name."""
    for place in (jnp, jax.nn, jax.lax, jax.scipy.special):
        if hasattr(place, name):
            return getattr(place, name)
    raise LookupError(f"JAX has no {name}: give it an entry in tools/fuzzing/referee.py")


def table(operations):
    """JAX's function for each operation of recipes; `operations` are the oracle's, for random numbers."""
    t = {
        "neg": jnp.negative, "reciprocal": lambda x: 1 / x,
        "erf": erf,
        "normal_cdf": jax.scipy.stats.norm.cdf, "gelu": lambda x: jax.nn.gelu(x, approximate=False),
        "stop_gradient": jax.lax.stop_gradient, "minus": lambda x: -x, "plus": lambda x: x, "flatten": jnp.ravel,
        "transpose": jnp.transpose, "not": jnp.logical_not, "real": lambda x: x.astype(jnp.float64),
        "integer": lambda x: x.astype(jnp.int64), "wide": lambda x: 0.5 * x,
        "add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "divide": jnp.divide, "pow": jnp.power,
        "min": jnp.minimum, "max": jnp.maximum, "less": jnp.less, "greater": jnp.greater, "less_equal": jnp.less_equal,
        "greater_equal": jnp.greater_equal, "equal": jnp.equal, "not_equal": jnp.not_equal, "both": jnp.logical_and,
        "either": jnp.logical_or, "select": jnp.where, "update": lambda a, b: ((a + b) * b - 0.5) / 1.25,
        "binary_cross_entropy_with_logits": lambda z, t: t * jax.nn.softplus(-z) + (1 - t) * jax.nn.softplus(z),
        "matmul": jnp.matmul, "dot": jnp.dot, "gather": lambda x, i: x[i], "batch_take": batch_take,
        "cross_entropy": lambda z, i: -batch_take(jax.nn.log_softmax(z), i),
    }
    t = {name: lambda of, has, f=f: f(*of) for name, f in t.items()}
    t.update({
        "times": lambda of, has: of[0] * has["by"], "more": lambda of, has: has["by"] + of[0], "from": lambda of, has: has["by"] - of[0],
        "over": lambda of, has: of[0] / has["by"], "under": lambda of, has: has["by"] / of[0], "to_the": lambda of, has: of[0] ** has["by"],
        "argmax": lambda of, has: jnp.argmax(of[0], axis=has["axis"]),
        "reshape": lambda of, has: of[0].reshape(has["to"]), "broadcast_to": lambda of, has: jnp.broadcast_to(of[0], has["to"]),
        "permute": lambda of, has: jnp.transpose(of[0], has["by"]), "concatenate": lambda of, has: jnp.concatenate(of, axis=has["axis"]),
        "stack": lambda of, has: jnp.stack(of, axis=has["axis"]),
        "index": indexed(lambda has: has["at"]), "range": indexed(lambda has: slice(has["start"], has["stop"], has["step"])),
        "split": split, "scatter_add": scatter_add, "one_hot": lambda of, has: jax.nn.one_hot(of[0], has["classes"]),
        "conv2d": images(conv2d), "max_pool2d": images(pool(-jnp.inf, jax.lax.max)), "avg_pool2d": images(average),
        "random_uniform": constant(operations["random_uniform"].value), "random_normal": constant(operations["random_normal"].value),
        "dropout": dropout,
        "zeros": lambda of, has: of[0] + jnp.zeros(has["to"]), "ones": lambda of, has: of[0] + jnp.ones(has["to"]),
        "eye": lambda of, has: of[0] * jnp.eye(has["to"][0]),
        "full": lambda of, has: of[0] * jnp.full(has["to"], has["by"]),
        "iota": lambda of, has: of[0] * (0.5 + 0.25 * jnp.arange(has["to"][0])),
    })
    for name in UNARY:
        if name not in t:
            t[name] = lambda of, has, f=found(name): f(of[0])
    for name in ALONG:
        if name not in t:
            t[name] = lambda of, has, f=found(name): f(of[0], axis=has["axis"])
    for name, f in (("sum", jnp.sum), ("mean", jnp.mean), ("max", jnp.max), ("min", jnp.min), ("logsumexp", logsumexp)):
        t["all_" + name], t[name + "_of"] = reduction(f)
    return t


class Run:
    """A recipe as a function of JAX."""

    def __init__(self, operations):
        self.table = table(operations)

    def walk(self, statements, env):
        for s in statements:
            of = [env[x] for x in s.of]
            special = getattr(self, "do_" + s.op, None)
            y = special(s, of, env) if special else self.table[s.op](of, s.has)
            env.update(zip(s.to, y if isinstance(y, (list, tuple)) else [y]))

    def block(self, b, env, values):
        inside = {**env, **dict(zip(b.takes, values))}
        self.walk(b.statements, inside)
        return [inside[x] for x in b.gives]

    def do_checkpoint(self, s, of, env):
        return jax.checkpoint(lambda *x: self.block(s.blocks[0], env, x))(*of)

    def do_compiled(self, s, of, env):
        return self.block(s.blocks[0], env, of)

    do_exact = do_mirror = do_compiled

    def do_grad(self, s, of, env):
        return jax.grad(lambda *x: self.block(s.blocks[0], env, x)[0], argnums=tuple(s.has["wrt_at"]))(*of)

    def do_value_and_grad(self, s, of, env):
        return [*self.block(s.blocks[0], env, of), *self.do_grad(s, of, env)]

    def do_vjp(self, s, of, env):
        y, back = jax.vjp(lambda *x: self.block(s.blocks[0], env, x)[0], *of[:-1])
        return [y, *back(of[-1])]

    def do_jvp(self, s, of, env):
        half = len(of) // 2
        y, dy = jax.jvp(lambda *x: self.block(s.blocks[0], env, x)[0], tuple(of[:half]), tuple(of[half:]))
        return [y, dy]


class Opinion:
    """What fuzzing.recipe.Expectation holds, by JAX."""

    def __init__(self, recipe, along, aside, operations):
        run = Run(operations)
        fixed = {x: array_of(v) for x, v in recipe.inputs.items()}

        def outputs(x):
            env = {**fixed, **dict(zip(recipe.wrt, x))}
            run.walk(recipe.statements, env)
            return [env[y] for y in recipe.outputs]

        def loss(x):
            of = [y for y in outputs(x) if jnp.issubdtype(y.dtype, jnp.floating)]
            return sum(0.3 * (k + 1) * jnp.sum(y) + 0.1 * jnp.sum(y * y) for k, y in enumerate(of))

        def directions(of):
            return [jnp.array(of[x]).reshape(recipe.inputs[x].shape) for x in recipe.wrt]
        x = [fixed[name] for name in recipe.wrt]
        self.values = [tensor_of(y) for y in outputs(x)]
        self.loss = float(loss(x))
        slopes, curves = jax.jvp(jax.grad(loss), (x,), (directions(along),))
        sides = directions(aside)
        self.slopes = [float(jnp.sum(g * s)) for g, s in zip(slopes, sides)]
        self.curves = [float(jnp.sum(h * s)) for h, s in zip(curves, sides)]
