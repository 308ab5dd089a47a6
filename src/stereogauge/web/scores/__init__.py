"""The site's answers about scores: tables, orders, statistics, downloads."""
