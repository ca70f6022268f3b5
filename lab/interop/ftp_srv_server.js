// An ftp-srv for anonymous users: HOST PORT DIRECTORY.
const FtpSrv = require('ftp-srv');

const [host, port, root] = process.argv.slice(2);
const server = new FtpSrv({url: `ftp://${host}:${port}`, anonymous: true, pasv_url: host, pasv_min: 32768, greeting: 'ftp-srv'});
server.on('login', (login, resolve) => resolve({root}));
server.listen();
