"""What a run says: claims, deviations, tables, the figures' style, its record, publishing."""
