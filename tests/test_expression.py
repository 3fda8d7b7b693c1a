"""Expressions of parameters: Python's arithmetic, and nothing but arithmetic."""

import math
from types import SimpleNamespace
from typing import Any

import casadi as ca
import hypothesis.strategies as st
import pytest
from harness import examples
from hypothesis import assume, given

from mbfmu.errors import ExpressionError, ValueRangeError
from mbfmu.model.expression import ARGUMENTS, FUNCTIONS, MAX_LENGTH, Expression, constant, guessed

NAMES: dict[str, Any] = {"x": 0.75, "y": -1.5, "arm": SimpleNamespace(l1=2.5, left=SimpleNamespace(m=0.125))}
VALUES: dict[str, float] = {"x": 0.75, "y": -1.5, "arm.l1": 2.5, "arm.left.m": 0.125}
PYTHON_FUNCTIONS: dict[str, Any] = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "abs": abs, "sin": math.sin, "cos": math.cos,
    "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan, "atan2": math.atan2, "tanh": math.tanh,
    "min": min, "max": max, "deg": math.radians, "floor": math.floor,
    "sign": lambda x: math.copysign(1.0, x) if x else 0.0, "where": lambda c, a, b: a if c else b,
}  # fmt: skip

often = examples(3, derandomize=True)


def number(text: str) -> float:
    """The value of an expression of VALUES."""
    return float(ca.DM(ca.evalf(ca.SX(Expression(text).evaluate(VALUES.__getitem__)))))


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.tuples(parts, st.sampled_from("+-*/"), parts).map("".join)
    signed = st.tuples(st.sampled_from("+-"), parts).map("".join)
    grouped = parts.map("({})".format)
    power = st.tuples(grouped, st.just("**"), st.sampled_from(("2", "3", "-1", "2**2"))).map("".join)
    called = st.sampled_from(
        ("sin({})", "abs({})", "max(x, {})", "atan2({}, 2.5)", "where(y < x, {}, x)", "where(x <= y, x, {})")
    ).flatmap(lambda form: parts.map(form.format))
    return st.one_of(binary, binary, signed, grouped, power, called)


ARITHMETIC = st.recursive(
    st.sampled_from(("x", "y", "arm.l1", "arm.left.m", "2.0", "0.5", ".25", "3.", "1e-1", " 7.5 ", "pi")),
    joined,
    max_leaves=12,
)


@given(ARITHMETIC)
@often
def test_arithmetic_and_its_precedence_are_pythons(text: str) -> None:
    try:
        expected = eval(text.strip(), {"__builtins__": {}}, {**NAMES, **PYTHON_FUNCTIONS, "pi": math.pi})
    except (ZeroDivisionError, OverflowError):
        assume(False)
    assume(math.isfinite(expected))
    # the same operations in the same order; only ** may round differently, by one unit in the last place
    assert number(text) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ARGUMENTS])
def test_a_function_of_one_number_is_the_one_of_math(name: str) -> None:
    for value in (0.1, 0.375, 0.9):
        assert number(f"{name}({value})") == pytest.approx(PYTHON_FUNCTIONS[name](value), rel=1e-15)


@pytest.mark.parametrize("name", ["atan2", "min", "max"])
def test_a_function_of_two_numbers_is_the_one_of_python(name: str) -> None:
    for a, b in ((0.1, -0.3), (-2.0, 1.5), (-1.0, -4.0)):
        assert number(f"{name}({a}, {b})") == pytest.approx(PYTHON_FUNCTIONS[name](a, b), rel=1e-15)


@pytest.mark.parametrize(
    ("text", "value"),
    [("floor(-0.5)", -1.0), ("floor(2)", 2.0), ("sign(-3)", -1.0), ("sign(0)", 0.0), ("where(0, 1, 2)", 2.0)],
)
def test_functions_that_jump_are_those_of_mathematics(text: str, value: float) -> None:
    assert number(text) == value


@pytest.mark.parametrize("text", ["x < y", "x <= y", "x > y", "x >= y", "x - y < y*y + 1", "(x < 1)*(y < 0) + 2"])
def test_a_comparison_is_one_where_it_holds_and_else_zero(text: str) -> None:
    for x, y in ((-1.0, 1.0), (1.0, 1.0), (2.0, 1.0), (0.0, -0.0)):
        found = Expression(text).evaluate({"x": ca.SX(x), "y": ca.SX(y)}.__getitem__)
        assert float(ca.DM(ca.evalf(ca.SX(found)))) == eval(text, {}, {"x": x, "y": y})


def test_a_choice_does_not_mind_what_the_other_value_is() -> None:
    x = ca.SX.sym("x")
    chosen = Expression("where(x > 0, sqrt(x), -x)").evaluate(lambda _: x)
    value = ca.Function("value", [x], [chosen, ca.jacobian(chosen, x)])
    for at, expected in ((-4.0, (4.0, -1.0)), (4.0, (2.0, 0.25)), (0.0, (0.0, -1.0))):
        assert tuple(map(float, value(at))) == expected


@pytest.mark.parametrize("text", ["0 < x < 1", "x < 1 and y < 1", "x if y else 1"])
def test_a_condition_written_otherwise_is_refused_with_how_to_write_it(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"is written (\(a < b\)\*\(b < c\)|where\(condition, a, b\))"):
        Expression(text)


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3.0), ("7/2", 3.5), ("2**10", 1024.0), ("1_000", 1000.0), ("0x10", 16.0)]
)
def test_an_integer_is_a_real_number(text: str, value: float) -> None:
    assert number(text) == value


def test_pi_is_a_number_and_no_name() -> None:
    assert Expression("2*pi").names == frozenset()
    assert number("2*pi") == 2 * math.pi


@pytest.mark.parametrize(
    ("text", "value"),
    [("pi/6", math.pi / 6), ("deg(30)", math.radians(30)), ("-deg(2*45)", -math.pi / 2), ("1e-3", 1e-3)],
)
def test_an_expression_without_names_is_a_number(text: str, value: float) -> None:
    assert constant(text) == pytest.approx(value, rel=1e-15)


def test_an_expression_with_a_name_or_without_a_finite_value_is_no_number() -> None:
    with pytest.raises(ExpressionError, match="'2\\*x' is not a number: there is 'x' in it"):
        constant("2*x")
    for text in ("1/0", "log(-1)", "1e999"):
        with pytest.raises(ValueRangeError, match="give a finite number"):
            constant(text)


@pytest.mark.parametrize(
    ("text", "inner"),
    [("guess(0.5)", "0.5"), (" guess( 2*lean ) ", "2 * lean"), ("guess(deg(30))", "deg(30)"),
     ("guess", None), ("guess(1) + 1", None), ("guess()", None), ("guess(", None), ("0.5", None)],
)  # fmt: skip
def test_a_guess_is_one_call_with_one_expression(text: str, inner: str | None) -> None:
    assert guessed(text) == inner


@given(ARITHMETIC)
@often
def test_names_are_exactly_what_evaluation_looks_up(text: str) -> None:
    asked: set[str] = set()

    def lookup(name: str) -> Any:
        asked.add(name)
        return ca.SX.sym(name)

    Expression(text).evaluate(lookup)
    assert Expression(text).names == asked


def test_a_dotted_name_is_one_name() -> None:
    assert Expression("left.upper.m + right.m").names == {"left.upper.m", "right.m"}


def test_an_entry_of_a_vector_is_a_name() -> None:
    assert Expression("2*rod.r_CM[1] + rod.r[12]").names == {"rod.r_CM[1]", "rod.r[12]"}


@pytest.mark.parametrize("text", ["m1/(m1 - m2)", "(a - b)**(-c)", "(-a)**(b/(c + d))*2", "1/(a - a)", "log(a - b)"])
def test_reading_does_not_depend_on_the_values_of_the_names(text: str) -> None:
    assert Expression(text).names <= {"a", "b", "c", "d", "m1", "m2"}


@pytest.mark.parametrize(
    "text",
    [
        "f(x)", "__import__('os')", "open('x')", "f(x)(y)", "x()", "a.b()", "a.b().c", "(1.0).real", "lambda: 1",
        "[x for x in y]", "{x}", "{}", "[x]", "x[0]", "(x, y)", "x, y", "'x'", "b'x'", "f'{x}'", "x if y else 1",
        "x == y", "x != y", "x < y < 1", "not x", "x and y", "(x := 1)", "True", "None", "...", "1j", "x // y", "x % y",
        "x @ y", "x | y", "x << 1", "~x", "sin(*x)", "sin(x=1)", "await x", "x = 1", "import os", "x; y", "x\ny", "",
        "   ", "# x", "1 +", "(x", "x)", "007", "x y", "m.1", "\x00", "\ud800",
        "x[True]", "x[1][2]", "x[y]", "x[1:2]", "x[-1]",
    ],
)  # fmt: skip
def test_everything_but_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression(text)


def test_a_power_written_with_a_caret_is_refused_with_a_hint() -> None:
    with pytest.raises(ExpressionError, match=r"'3 \* x \^ 2' is not allowed .*a power is written \*\*"):
        Expression("3*x^2")


@pytest.mark.parametrize(
    ("text", "wanted", "given"), [("sin(1, 2)", 1, 2), ("atan2(1)", 2, 1), ("max()", 2, 0), ("where(1, 2)", 3, 2)]
)
def test_a_function_with_the_wrong_number_of_arguments_is_refused(text: str, wanted: int, given: int) -> None:
    with pytest.raises(ExpressionError, match=rf"takes {wanted} argument\(s\), not {given}"):
        Expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 3000 + "x" + ")" * 3000,
        "-" * 5000 + "x",
        "sin(" * 80 + "x" + ")" * 80,
        "x" + "**x" * 2000,
        "a" + ".a" * 4000 + "()",
    ],
)
def test_huge_nesting_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression(text)


@pytest.mark.parametrize("text", ["x" * 100_000, "1" * 100_000, "+x" * 50_000, "(" * 100_000, " " * 100_000])
def test_a_text_that_is_too_long_is_refused_unread(text: str) -> None:
    with pytest.raises(ExpressionError, match=f"of 100000 characters is too long \\(at most {MAX_LENGTH}\\)"):
        Expression(text)


@pytest.mark.parametrize("text", ["9**9**9", "9**9**9**9", "9.0**9.0**9.0", "1e400", "exp(exp(9))"])
def test_a_power_tower_is_infinite_at_once(text: str) -> None:
    assert number(text) == math.inf


@pytest.mark.parametrize("text", ["1" + "0" * 400, "0x" + "f" * 300, "9" * 5000])
def test_an_integer_too_large_for_a_real_number_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        Expression(text)


@pytest.mark.parametrize("text", ["(" * 3000 + "x" + ")" * 3000, "x\n+\ny", "f(" + "x, " * 2000 + "x)"])
def test_a_refusal_is_one_line_that_can_be_read(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        Expression(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


ALPHABET = st.text(alphabet="xyab019.+-*/^()[]{},:;=<>!@%&|~'\"\\# \t\nejl_$\x00\u00b2\ufb01", max_size=30)


@given(st.one_of(st.text(max_size=30), ALPHABET, ARITHMETIC))
@examples(15, derandomize=True)
def test_any_text_is_an_expression_or_an_expression_error(text: str) -> None:
    try:
        expression = Expression(text)
    except ExpressionError:
        return
    for name in expression.names:
        inner = name[4:-1] if name.startswith("der(") else name
        assert all(part.isidentifier() for part in inner.split("."))
    ca.SX(expression.evaluate(ca.SX.sym))


def test_a_flat_sum_has_any_length() -> None:
    """Each of its terms is the right operand of an operation whose left one is all before it."""
    names = [f"x{k}" for k in range(1200)]
    text = " + ".join(names[:600]) + "".join(f" - {name}" for name in names[600:])
    assert float(Expression(text).evaluate(lambda name: ca.SX(float(name[1:])))) == sum(range(600)) - sum(
        range(600, 1200)
    )
