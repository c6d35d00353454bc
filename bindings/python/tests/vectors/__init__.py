"""The interpreter of tests/vectors: `files` reads and checks them, `values` makes arguments, `matching` compares
outputs, `raw` calls the C functions, `api` calls the package's methods, `play` plays a case.
"""
