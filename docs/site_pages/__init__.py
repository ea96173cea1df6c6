"""Pages of the site that are made from code and results; each module has ``pages()``: file name -> text."""
