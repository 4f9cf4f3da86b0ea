"""Makes the cluster match what is wanted: observe, decide, act, again and again; one supervisor at a time."""
