"""Search of class costs for any estimator. Paper 003."""
