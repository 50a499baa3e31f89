"""The calculator: plain arithmetic, exact on integers, with bounds on size."""

import ast
import math
import operator
from collections.abc import Callable

from taugraph.domains.errors import ToolRefusal
from taugraph.tools.definition import ToolKind, domain_tool

MAX_EXPRESSION_CHARACTERS = 2_000
"""Longest accepted expression."""

MAX_INTEGER_BITS = 20_000
"""Largest accepted intermediate integer; a tower of powers would otherwise never end."""

_CHARACTERS = frozenset("0123456789+-*/(). ")
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


@domain_tool(ToolKind.GENERIC)
def calculate(expression: str) -> str:
    """Work out an arithmetic expression and round the result to two decimals.

    Args:
        expression: Digits, the signs + - * /, parentheses, points and spaces, such as "3 * (120.50 - 20)".
    """
    if not isinstance(expression, str) or not _CHARACTERS.issuperset(expression):
        raise ToolRefusal("the expression may hold digits, + - * / ( ) . and spaces only")
    if len(expression) > MAX_EXPRESSION_CHARACTERS:
        raise ToolRefusal(f"the expression is longer than {MAX_EXPRESSION_CHARACTERS} characters")
    try:
        value = float(_value(ast.parse(expression.strip(), mode="eval").body))
        if not math.isfinite(value):
            raise ValueError("a number grows too large")
        return str(round(value, 2))
    except (SyntaxError, ArithmeticError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ToolRefusal(f"the expression cannot be worked out: {error}") from error


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow):
            _check_power(left, right)
        result = _BINARY[type(node.op)](left, right)
        if isinstance(result, int) and result.bit_length() > MAX_INTEGER_BITS:
            raise ValueError("a number grows too large")
        return result
    raise ValueError("it is no arithmetic expression")


def _check_power(base: float, exponent: float) -> None:
    if isinstance(base, int) and isinstance(exponent, int) and exponent * base.bit_length() > MAX_INTEGER_BITS:
        raise ValueError("a number grows too large")
