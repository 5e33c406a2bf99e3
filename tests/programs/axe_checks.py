"""What axe-core finds on a page that hinders people with a keyboard, a screen reader or weak eyes."""

from typing import Any


def hindrances(page: Any) -> list[str]:
    """A line for each rule that is broken, with the first element; the page's own policy stays in force."""
    from axe_playwright_python.sync_playwright import Axe

    return [
        f"{found['id']}: {found['nodes'][0]['html'][:200]}"
        for found in Axe().run(page).response["violations"]
    ]
