"""The items that spiders yield: one class a file, each with its collection and its key."""
