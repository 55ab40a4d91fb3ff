"""SR1 as others' programs take it: a file without shapes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from xml.etree import ElementTree

from cnoid_control.share import shared_file

# What tells the joints from the links, which have the same names in SR1.
JOINT = ' joint'


def bare_model() -> str:
    """SR1 without shapes, its joints named apart from its links, in the file that is returned."""
    tree = ElementTree.parse(shared_file('urdf', 'sr1.urdf'))
    root = tree.getroot()
    for link in root.iter('link'):
        for shape in link.findall('visual') + link.findall('collision'):
            link.remove(shape)
    for joint in root.findall('joint'):
        joint.set('name', f'{joint.get("name")}{JOINT}')
    folder = tempfile.mkdtemp(prefix='cnoid_control_bench_')
    path = Path(folder, 'sr1.urdf')
    tree.write(path)
    return str(path)
