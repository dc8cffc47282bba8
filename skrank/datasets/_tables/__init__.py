"""Reading tables of preferences: cells of a file, what its header says, which columns are items, and their ranks."""
