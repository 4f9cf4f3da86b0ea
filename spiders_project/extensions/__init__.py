"""What a worker does beside crawling: it watches, counts and reports."""
