"""Layout of PlotJuggler for the topics of a robot's node."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

# Topics by what they hold, seen from the node's namespace; PlotJuggler names the values of a
# sensor_msgs/JointState topic/joint/field.
STATES, COMMANDS = '/joint_states', '/cnoid_control/joint_commands'
FIELDS = {'position': 'positions', 'velocity': 'velocities', 'effort': 'efforts'}
COLORS = ('#1f77b4', '#d62728', '#2ca02c', '#ff7f0e', '#9467bd', '#8c564b', '#e377c2', '#17becf')
# Joints in one plot.
MOST = 8


def layout(joints: Sequence[str]) -> str:
    """XML of a layout: a tab per quantity, measured above commanded, eight joints per plot."""
    root = ElementTree.Element('root')
    window = ElementTree.SubElement(
        root, 'tabbed_widget', {'parent': 'main_window', 'name': 'Main Window'}
    )
    for field, title in FIELDS.items():
        tab = ElementTree.SubElement(window, 'Tab', tab_name=title, containers='1')
        container = ElementTree.SubElement(tab, 'Container')
        groups = [joints[i : i + MOST] for i in range(0, len(joints), MOST)]
        plots = [(topic, group) for group in groups for topic in (STATES, COMMANDS)]
        sizes = ';'.join(f'{1.0 / len(plots):.4f}' for _ in plots)
        # '-' lays them one above the other.
        stack = ElementTree.SubElement(
            container, 'DockSplitter', orientation='-', count=str(len(plots)), sizes=sizes
        )
        for topic, group in plots:
            area = ElementTree.SubElement(stack, 'DockArea', name=f'{topic} {title}')
            plot = ElementTree.SubElement(area, 'plot', style='Lines', mode='TimeSeries')
            for number, joint in enumerate(group):
                ElementTree.SubElement(
                    plot, 'curve', name=f'{topic}/{joint}/{field}', color=COLORS[number]
                )
    ElementTree.SubElement(root, 'use_relative_time_offset', enabled='1')
    ElementTree.SubElement(root, 'previouslyLoaded_Streamer', name='ROS2 Topic Subscriber')
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(root, encoding='unicode') + '\n'
