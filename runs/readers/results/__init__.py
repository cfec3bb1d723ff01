"""Results of benchmark clients: files, blocks and tables to rows. Pure: bytes in, values out.

`read_results(data)` reads a file that is nothing but results. `TextResults` takes the lines of a
text that holds other things, too. `field_case_row` writes a row in the words of the exchange form.
"""
