"""Checks of the doctor, one file for each kind of evidence."""
