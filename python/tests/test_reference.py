import runpy

from conftest import ROOT


def test_the_reference_is_what_the_package_says():
    written = runpy.run_path(str(ROOT / "python/docs/reference.py"))
    assert written["PAGE"].read_text() == written["page"](), "made anew by python python/docs/reference.py"
