"""Log files: MCAP with ROS 2 messages, written in bulk and read back to the bit."""

from cnoid_control.log.exceptions import LogError
from cnoid_control.log.model_files import stored_body
from cnoid_control.log.reader import LogFile
from cnoid_control.log.run_log import RunLog, Series
from cnoid_control.log.writer import Batch, McapWriter

__all__ = ['Batch', 'LogError', 'LogFile', 'McapWriter', 'RunLog', 'Series', 'stored_body']
