"""Joint actuators as a controller sees them: PID, torque and velocity, joint by joint."""

from cnoid_control.controllers.drive.joint_drive import DriveMode, JointDrive
from cnoid_control.controllers.drive.laws import DriveParameters

__all__ = ['DriveMode', 'DriveParameters', 'JointDrive']
