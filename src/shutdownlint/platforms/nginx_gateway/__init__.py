"""NGINX Gateway Fabric: the NginxProxy objects that shape its nginx pods."""
