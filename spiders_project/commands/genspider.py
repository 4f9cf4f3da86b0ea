"""``scrapy genspider`` with the project's template beside Scrapy's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy.commands import genspider

TEMPLATES = Path(__file__).parent.parent / "templates"


class Command(genspider.Command):
    """``-t shared`` makes a spider on the shared frontier. TEMPLATES_DIR would hide Scrapy's templates."""

    def _find_template(self, template: str) -> Path | None:
        own = TEMPLATES / f"{template}.tmpl"
        return own if own.exists() else super()._find_template(template)

    def _generate_template_variables(self, module: str, name: str, url: str, template_name: str) -> dict[str, Any]:
        variables = super()._generate_template_variables(module, name, url, template_name)
        # Scrapy takes the port for a part of the domain, and then ignores such an entry of allowed_domains.
        return {**variables, "domain": urlsplit(url).hostname or variables["domain"]}

    def _list_templates(self) -> None:
        super()._list_templates()
        print("\n".join(f"  {file.stem}" for file in sorted(TEMPLATES.glob("*.tmpl"))))  # noqa: T201 - a command's output
