"""Options of an audit, judged before anything is read."""
