import ftplib
import sys
import urllib.parse

import ftputil
import ftputil.session

url = urllib.parse.urlsplit(sys.argv[1])
factory = ftputil.session.session_factory(base_class=ftplib.FTP, port=url.port or 21)
with ftputil.FTPHost(url.hostname, url.username or "anonymous", url.password or "", session_factory=factory) as host:
    with host.open(urllib.parse.unquote(url.path), "rb") as file:
        sys.stdout.buffer.write(file.read())
