# SPDX-License-Identifier: MIT
"""browser_test.py <dent> <kernels> <folder for screenshots>: the live page in a real browser, light and dark, wide and on
a phone's width; while a session runs; and when its server goes away and comes back. Exit code 77 where there is none."""

import pathlib
import sys

import browser
from watched import Watched, wait_for


def shows_the_loop(page):
    wait_for(lambda: page.ask("document.getElementById('link')?.textContent") == "live", "the page is connected")
    assert page.ask("document.querySelectorAll('#climb svg .interval').length") >= 3, "the climb has intervals"
    assert page.ask("document.querySelectorAll('#climb .tree details').length") == 4
    assert page.ask("document.querySelectorAll('#climb .tree > li').length") == 2, "the start and one kept change"
    page.ask("document.getElementById('try-1').open = true")
    assert page.ask("document.querySelectorAll('#try-1 .diff .added').length") == 1
    page.ask("replace({ id: 'climb', markup: document.getElementById('climb').innerHTML.replace(' open=\"\"', '') })")
    assert page.ask("document.getElementById('try-1').open") is True, "what was opened stays open in an update"
    assert page.ask("window.hacked") is None, "text of a candidate ran as a script"


def fits_everywhere(page, shots):
    colours = set()
    for name, width, height in (("wide", 1000, 1600), ("phone", 390, 1600)):
        for dark in (False, True):
            page.look(width, height, dark)
            wide = page.ask("document.documentElement.scrollWidth")
            assert wide <= width, f"{name}: the page is {wide} wide"
            colours.add(page.ask("getComputedStyle(document.body).backgroundColor"))
            page.shoot(shots / f"watch-{name}-{'dark' if dark else 'light'}.png")
    assert len(colours) == 2, colours


def follows_a_session(page, watched, shots):
    session = watched.run()
    wait_for(lambda: page.ask("document.title") == "scale: running", "the page shows the new session")
    assert "INTERRUPTED" not in page.ask("document.body.textContent")
    page.look(1000, 1600, False)
    page.shoot(shots / "watch-running.png")
    session.wait()
    wait_for(lambda: "running" not in page.ask("document.title"), "its verdict is shown")
    assert page.ask("document.querySelectorAll('#speed svg').length") == 1
    assert page.ask("document.querySelectorAll('#climb *').length") == 0, "it is no loop"
    assert "performance" in page.ask("document.getElementById('log').textContent")


def comes_back(page, watched):
    watched.stop()
    wait_for(lambda: page.ask("document.getElementById('link').textContent") == "reconnecting", "the loss is told")
    watched.start()
    wait_for(lambda: page.ask("document.getElementById('link').textContent") == "live", "it is connected again")


def main():
    if not browser.find():
        print("skipped: no chromium here (Debian: apt-get install chromium)")
        sys.exit(77)
    shots = pathlib.Path(sys.argv[3])
    shots.mkdir(parents=True, exist_ok=True)
    with Watched(sys.argv[1], sys.argv[2]) as watched:
        page = browser.Browser()
        try:
            page.look(1000, 1600, False)
            page.open(watched.url)
            wait_for(lambda: page.ask("document.readyState") == "complete", "the page is loaded")
            shows_the_loop(page)
            fits_everywhere(page, shots)
            follows_a_session(page, watched, shots)
            comes_back(page, watched)
            outside = [one for one in page.requests if not one.startswith((watched.url, "data:", "about:"))]
            assert not outside, outside
        finally:
            page.close()
    print("screenshots in", shots)


main()
