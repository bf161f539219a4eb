"""Models of how counts move and how far pooled counts are biased; all of them are functions of public values."""
