"""The loop: its host of controllers, its watchdog and limits, recording and replay."""
