import sys
from pathlib import Path

# Tests of this folder share a module; with pytest's importlib mode the folder is not on the path
# by itself.
sys.path.insert(0, str(Path(__file__).parent))
