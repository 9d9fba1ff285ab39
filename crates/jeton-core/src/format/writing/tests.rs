//! Every format, written and read.
