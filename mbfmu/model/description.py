"""Description: base of what a user writes down, which says which fields there are and what belongs in them."""

import inspect
from dataclasses import fields
from typing import Any

from mbfmu.errors import ModelError, UnknownNameError, nearest


class _Signature:
    """The signature of a description's class: that of its fields."""

    def __get__(self, _: object, owner: type) -> inspect.Signature:
        _self, *parameters = inspect.signature(owner.__init__).parameters.values()  # type: ignore[misc]
        return inspect.Signature(parameters)


class Description:
    """Base of frozen dataclasses that a user writes down.

    Raises:
        UnknownNameError: an argument is not a field.
    """

    __signature__ = _Signature()

    def __new__(cls, *_: Any, **values: Any) -> Any:
        taken = fields(cls)  # type: ignore[arg-type]
        ordered = sorted(taken, key=lambda item: item.kw_only is True)
        known = {item.name: item.metadata.get("quantity") for item in ordered if item.init}
        for name in values:
            if name not in known:
                meant = [key for key, item in known.items() if item and name.lower() in item.description.split()]
                clause = f"did you mean '{meant[0]}'?" if meant else nearest(name, known)
                listed = "" if clause.startswith("known") else f" Its fields: {', '.join(known)}"
                raise UnknownNameError(f"a {cls.__name__} has no field '{name}'; {clause}{listed}")
        return super().__new__(cls)


def check_texts(item: Any, *names: str) -> None:
    """Raise an error if fields of a description that are texts hold something else.

    Args:
        item: the description.
        names: names of the fields.

    Raises:
        ModelError: one of them holds something else.
    """
    for name in names:
        value = getattr(item, name)
        if not isinstance(value, str):
            raise ModelError(f'{name} of a {type(item).__name__} = {value!r} must be a text, such as "{value}"')


def check_items(where: str, items: Any, *kinds: type) -> None:
    """Raise an error if the value of a field is not a tuple or list of items of some classes.

    Args:
        where: name of the field, for messages.
        items: its value.
        kinds: the classes.

    Raises:
        ModelError: it is something else, such as a single item because a comma is missing.
    """
    names = " or ".join(kind.__name__ for kind in kinds)
    if isinstance(items, kinds):
        kind, field = type(items).__name__, where.split()[0]
        shown = {"str": "...", "Connection": "connect(...)"}.get(kind, f"{kind}(...)")
        raise ModelError(f"{where} is a single {kind}, not a tuple: end it with a comma, {field}=({shown},)")
    if not isinstance(items, tuple | list):
        raise ModelError(f"{where} = {items!r} must be a tuple, each item a {names}")
    for item in items:
        if isinstance(item, type) and issubclass(item, kinds):
            raise ModelError(f"{where}: {item.__name__} is a class; write {item.__name__}(...) to make one")
        if not isinstance(item, kinds):
            raise ModelError(f"{where}: {item!r} is a {type(item).__name__}; it must be a {names}")
