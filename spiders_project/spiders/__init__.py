"""One spider a file; ``scrapy genspider -t shared NAME DOMAIN`` adds one."""
