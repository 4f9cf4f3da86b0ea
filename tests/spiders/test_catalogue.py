from crawl import crawl

from deploy.sample_site import expected_products


def test_catalogue_reads_every_product_of_the_sample_site_as_its_page_says(shop):
    done = crawl("catalogue", shop.url)
    assert len(done.items) == len(expected_products()), done.log
    found = {item.pop("sku"): item for item in done.items}
    for sku, product in expected_products().items():
        assert found[sku] == {
            "class": "Product",
            "name": product.name,
            "url": f"{shop.url}{product.path[1:]}",
            "price": str(product.price),
            "currency": product.currency,
            "availability": product.availability,
            "categories": list(product.categories),
            "images": list(product.images),
            "description": product.description,
        }
