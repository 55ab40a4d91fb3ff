"""Joint actuators as a controller sees them: PID, torque and velocity, joint by joint."""

from cnoid_control.controllers.drive.drive_parameters import DriveParameters
from cnoid_control.controllers.drive.joint_drive import DriveMode, JointDrive

__all__ = ['DriveMode', 'DriveParameters', 'JointDrive']
