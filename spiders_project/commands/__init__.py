"""Scrapy commands that the project changes."""
