"""What users import in their own tests and scripts: the dtypes that a step really used, and assertions about them."""
