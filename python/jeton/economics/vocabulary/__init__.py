"""Size of the vocabulary: laws, its price in training and serving."""
