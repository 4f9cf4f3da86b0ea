"""A shop that the project serves to itself on loopback: every page known, and every trap that the web sets.

``serve()`` starts it; the functions ``expected_…`` say what a crawl must find.
``python -m deploy.sample_site`` serves it to a browser.
"""

from deploy.sample_site.content import expected_entries, expected_pages, expected_sitemap_pages
from deploy.sample_site.feeds import Entry
from deploy.sample_site.products import Product, expected_products
from deploy.sample_site.server import Arrival, SampleSite, serve

__all__ = [
    "Arrival",
    "Entry",
    "Product",
    "SampleSite",
    "expected_entries",
    "expected_pages",
    "expected_products",
    "expected_sitemap_pages",
    "serve",
]
