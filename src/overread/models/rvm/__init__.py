"""The relevance vector machine for bags (B1): a Gaussian prior per feature, its width learned from the evidence."""
