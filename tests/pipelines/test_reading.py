"""What ``scrapy items`` reads while a crawl goes on."""

from __future__ import annotations

import io

from spiders_project.pipelines.reading import Csv, documents, field_names


def test_a_field_that_comes_during_an_export_as_csv_does_not_end_it(mongo_db):
    mongo_db.books.insert_one({"_id": "1", "spider": "shop", "title": "Moby Dick"})
    out = io.StringIO()
    rows = Csv(out, field_names(mongo_db, "shop", "books"))
    mongo_db.books.insert_one({"_id": "2", "spider": "shop", "title": "Ulysses", "price": 3})
    for document in documents(mongo_db, "shop", "books", None)[1]:
        rows.write(document)

    assert out.getvalue().splitlines() == ["_id,title,spider", "1,Moby Dick,shop", "2,Ulysses,shop"]
    assert rows.left_out == {"price"}
