"""Every attention of today in one small model that writes: trained alike, and measured alike."""
