"""Reports of what passed are few and brief on their way from a worker: a test has three, the suite thousands.

A report in full is a table with all names that the test can be chosen by. Nobody reads them of a test that
passed, and writing and reading them takes as long as a quick test does.
"""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.runner import runtestprotocol

_BRIEF = "passed"
_OF_XDIST = ("item_index", "worker_id", "testrun_uid")  # what it adds to each report, and looks for


@pytest.hookimpl
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Sends one report of a test that passed: what its setup and its clean-up say is that they did, too."""
    if not hasattr(item.config, "workerinput"):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_report_to_serializable(report: pytest.CollectReport | pytest.TestReport) -> dict[str, Any] | None:
    """Leaves reports that have something to say to pytest."""
    if not isinstance(report, pytest.TestReport) or not report.passed:
        return None
    if report.longrepr or report.sections or report.user_properties or hasattr(report, "wasxfail"):
        return None
    return {_BRIEF: (report.nodeid, report.location, report.when, report.duration)}


@pytest.hookimpl(tryfirst=True)
def pytest_report_from_serializable(data: dict[str, Any]) -> pytest.TestReport | None:
    if _BRIEF not in data:
        return None
    name, location, when, duration_s = data[_BRIEF]
    its = {key: data[key] for key in _OF_XDIST if key in data}
    return pytest.TestReport(name, location, {}, "passed", None, when, duration=duration_s, **its)
