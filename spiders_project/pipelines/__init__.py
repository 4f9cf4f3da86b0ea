"""From an item to a document in MongoDB: validate → normalise → mongo."""
