# SPDX-License-Identifier: Apache-2.0
"""start, stop, pause and resume. kymo.pth calls begin() in each interpreter whose environment asks for it: before the program,
so this imports only what each interpreter has loaded by then."""
import os
import sys

_OWN = os.path.dirname(__file__) + os.sep + "*"


def _library():
    """Patterns of the files of the standard library."""
    return [os.path.dirname(os.__file__) + os.sep + "*", "<frozen *"]


# What _kymo.start() takes. Up to 3.11 CPython tells of exceptions only with each line or instruction. On 3.9 that
# costs little, on 3.10 and 3.11 much, but for those that end a call.
_NO_EXCEPTIONS, _THOSE_THAT_END_A_CALL, _ALL_EXCEPTIONS = range(3)
_AFFORDABLE = _THOSE_THAT_END_A_CALL if (3, 10) <= sys.version_info < (3, 12) else _ALL_EXCEPTIONS


def start(output=None, natives=True, exceptions=None, library=True, depth=0, include=(), exclude=(), settings=""):
    """Traces all threads of this interpreter, until stop(). Returns whether a recorder wants it; where one has
    started it already, nothing changes.

    output      where no recorder is: a recording of this process into this file, in the format of its name, which
                stop() or the end of the program writes. True: kymo.PROGRAM.PID.kymo in the current folder
    settings    of that recording, as in KYMO_OPTIONS: "cpu=1ms,wall=10ms"
    natives     calls of functions that are not Python, too
    exceptions  each exception that is raised is a marker. None: on Python 3.10 and 3.11 only what leaves the
                function that raises it, since all would slow down each line
    library     False: without functions of the standard library
    depth       of a thread's calls, so many levels; 0: all
    include     patterns of file names, as of fnmatch: functions of these files alone
    exclude     the same: not those

    The time of functions that are left out is their caller's."""
    if output is not None:
        _record(output, settings)
    return _start(False, natives, exceptions, library, depth, include, exclude)


def _record(output, settings):
    from kymo import _kymo
    if not _kymo.is_recorded():
        from kymo import _own
        _own.begin(output, settings)


def _start(block, natives=True, exceptions=None, library=True, depth=0, include=(), exclude=()):
    from kymo import _kymo
    hidden = [_OWN, *exclude, *([] if library else _library())]
    wanted = _AFFORDABLE if exceptions is None else _ALL_EXCEPTIONS if exceptions else _NO_EXCEPTIONS
    return _kymo.start(natives=natives, exceptions=wanted, depth=depth, include=tuple(include),
                       exclude=tuple(hidden), block=block)


def stop():
    """Ends what start began, in all threads. A recording of its own is written then: that takes as long as `kymo
    convert`. OSError says why it could not be."""
    from kymo import _kymo
    _kymo.stop()
    _end_own()


def _end_own():
    own = sys.modules.get("kymo._own")
    if own:
        own.end()


def pause():
    """Traces nothing until resume(), in no thread. Without a trace it does nothing. stop(), start() and the end of
    the outermost block of traced() end the pause, too."""
    from kymo import _kymo
    _kymo.pause()


def resume():
    """Goes on with the options that were there before pause()."""
    from kymo import _kymo
    _kymo.resume()


def traced(output=None, settings="", **options):
    """Traces a block, or as a decorator a function; options as of start. Blocks may lie in each other, and run in
    several threads: tracing ends with the last one, and goes on if it ran before. With an output, a recording of its
    own ends with the block that began it."""
    # Not above: a program may have modules with the names of those that this needs.
    import contextlib

    @contextlib.contextmanager
    def block():
        from kymo import _kymo
        begins = output is not None and not _kymo.is_recorded()
        if begins:
            _record(output, settings)
        try:
            _start(True, **options)
            try:
                yield
            finally:
                _kymo.end_block()
        finally:
            if begins:
                _end_own()

    return block()


def _options(text):
    """Of the environment: names of start's options, with = and a value, with commas between them; of the last
    two, with colons between patterns."""
    out = {}
    for word in filter(None, text.split(",")):
        name, _, value = word.partition("=")
        if name in ("natives", "exceptions", "library"):
            out[name] = value not in ("no", "0", "off")
        elif name == "depth":
            out[name] = int(value)
        elif name in ("include", "exclude"):
            out[name] = value.split(":")
        elif word not in ("1", "off"):
            raise ValueError(f"KYMO_TRACE_PYTHON: {word!r} is unknown; it takes natives=, exceptions=, library=, "
                             "depth=, include=, exclude= and off")
    return out


def begin():
    """At the start of an interpreter. Whatever goes wrong, the program runs."""
    asked = os.environ.get("KYMO_TRACE_PYTHON", "")
    try:
        if asked != "off":
            start(**_options(asked))
    except Exception as why:  # the program is not to be harmed
        print(f"kymo: python {sys.version_info.major}.{sys.version_info.minor} is not traced: {why}",
              file=sys.stderr)
