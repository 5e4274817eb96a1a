"""One suite per port, and every adapter passes the same one."""
