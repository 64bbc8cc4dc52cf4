"""Every relative link of the pages leads to a file that is there, and to a heading that it has.

    page_links.py ROOT

Pages are the .md files of the root, docs/, bench/ and examples/. A heading's anchor is formed as GitHub
forms it; links inside fenced blocks are no links. Links to the web are not followed.
SPDX-License-Identifier: Apache-2.0
"""

import pathlib
import re
import sys

FENCED = re.compile(r"^```.*?^```$", re.S | re.M)


def anchors(page):
    """The anchors of a page's headings; those of equal headings are numbered."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = again = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 0
        while again in found:
            number += 1
            again = f"{name}-{number}"
        found.add(again)
    return found


def broken(page):
    """The relative links of a page that lead nowhere, and how many it has."""
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", page.read_text(encoding="utf-8")))
             if not re.match(r"[a-z]+:", link)]
    bad = []
    for link in links:
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or anchor and target.suffix == ".md" and anchor not in anchors(target):
            bad.append(link)
    return bad, len(links)


def main():
    root = pathlib.Path(sys.argv[1])
    folders = [root.glob("*.md"), *((root / name).rglob("*.md") for name in ("docs", "bench", "examples"))]
    count = failures = 0
    for page in sorted(page for pages in folders for page in pages):
        bad, links = broken(page)
        count += links
        failures += len(bad)
        for link in bad:
            print(f"{page.relative_to(root)}: {link} leads nowhere", file=sys.stderr)
    print(f"{count} links, {failures} of them lead nowhere")
    return 1 if failures or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
