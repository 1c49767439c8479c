"""How many heads, and how wide: error of one attention layer on a task that needs rank."""
