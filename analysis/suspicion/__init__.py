"""Signs of fake or broken reports in released tallies: what honest devices would hardly give."""
