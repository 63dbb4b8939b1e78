"""Running is what checks share: finding them, reading them, and doing in bounds what they ask for."""
