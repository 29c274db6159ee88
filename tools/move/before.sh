# small edits before the move; run in the root of a clone
set -e
python3 - <<'PY'
import re, pathlib
def edit(path, *pairs):
    p = pathlib.Path(path); s = p.read_text()
    for a, b in pairs:
        assert a in s, (path, a)
        s = s.replace(a, b)
    p.write_text(s)
edit('src/overread/anatomy/filters.py', ('from overread.anatomy.structures import Map\n', ''), )
s = pathlib.Path('src/overread/anatomy/filters.py').read_text()
i = s.index('\ndef ')
s = s[:i].rstrip('\n') + '\n\nMap = NDArray[np.float32]\n\n' + s[i:]
if 'from numpy.typing import NDArray' not in s: s = s.replace('import numpy as np\n', 'import numpy as np\nfrom numpy.typing import NDArray\n')
pathlib.Path('src/overread/anatomy/filters.py').write_text(s)
PY
