"""Moving pictures of mechanisms with contacts."""
