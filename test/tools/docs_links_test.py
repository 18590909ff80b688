"""Every relative link of the pages in the repository's root and in docs/ leads to a file."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
pages = sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")])
links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())]
broken = [f"{page.relative_to(root)}: no file {link}" for page, link in links if not (page.parent / link).exists()]
print("\n".join(broken) or f"{len(links)} links of {len(pages)} pages")
sys.exit(4 if broken or not links else 0)
