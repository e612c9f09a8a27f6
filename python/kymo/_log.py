# SPDX-License-Identifier: Apache-2.0
"""Log records become markers when a logger handles them, as the program's handlers see them."""
import sys

from kymo import _kymo


def _text_of(record):
    """The message, if nothing of the program has to be called for it."""
    if not record.args:
        return record.msg if type(record.msg) is str else ""
    args = record.args if type(record.args) is tuple else (record.args,)
    plain = type(record.msg) is str and all(type(a) in (str, int, float, bool) for a in args)
    try:
        return record.getMessage() if plain else record.msg if type(record.msg) is str else ""
    except (TypeError, ValueError):
        return record.msg


def _patch(logging):
    handle = logging.Logger.handle

    def traced_handle(self, record):
        _kymo.log(record.levelname, record.name, _text_of(record))
        return handle(self, record)

    traced_handle.__name__ = "handle"
    traced_handle.__qualname__ = "Logger.handle"
    logging.Logger.handle = traced_handle


class _Finder:
    """Waits for the import of logging."""

    def find_spec(self, name, path=None, target=None):
        if name != "logging":
            return None
        sys.meta_path.remove(self)
        import importlib.util
        spec = importlib.util.find_spec("logging")
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _patch(module)

        spec.loader.exec_module = exec_module
        return spec


_followed = False


def follow():
    """From the first start on; loggers do not know whether somebody traces."""
    global _followed
    if _followed:
        return
    _followed = True
    if "logging" in sys.modules:
        _patch(sys.modules["logging"])
    else:
        sys.meta_path.insert(0, _Finder())
