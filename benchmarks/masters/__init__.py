"""FMUs of mbfmu in the importing tools of others: which of them agree, with which version and options."""
