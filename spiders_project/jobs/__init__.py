"""The record that each job leaves: what it says, how it is written and read. Knows no Scrapy."""
