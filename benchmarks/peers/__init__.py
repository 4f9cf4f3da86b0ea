"""What runs inside the measured processes: settings modules, spiders, the Celery crawler, a witness."""
