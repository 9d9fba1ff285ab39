"""Plans of serving as tables, plots and pages."""
