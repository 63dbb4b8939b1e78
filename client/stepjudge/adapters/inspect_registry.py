"""What Inspect loads to find `stepjudge/step_scorer` and `stepjudge/step_scanner` by name: its entry point.

Inspect AI and Inspect Scout share one registry and one entry point. Scout takes seconds to import, so the scanner is there
when Scout is.
"""

import sys

from stepjudge.adapters import inspect_ai, inspect_scout

inspect_ai.registered()
if "inspect_scout" in sys.modules:
    inspect_scout.registered()
