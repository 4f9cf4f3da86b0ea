"""What stands between the scheduler and the server: the gate, back-off, and what becomes of failures."""
