"""Two questions asked as one: tables, and a test of association."""
