"""The operator's side: releases eggs to Scrapyd nodes and looks after the crawls that run there."""
