"""``python -m benchmarks``: what this crawler costs, side by side with what people use today."""
