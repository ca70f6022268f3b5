// A server of npm's package ftpd that anyone may enter: HOST PORT DIRECTORY.
const {FtpServer} = require('ftpd');

const [host, port, root] = process.argv.slice(2);
const server = new FtpServer(host, {
	getInitialCwd: () => '/', getRoot: () => root, pasvPortRangeStart: 32768, pasvPortRangeEnd: 60999,
});
server.on('error', (err) => console.log(err));
server.on('client:connected', (connection) => {
	let name;
	connection.on('command:user', (user, ok) => { name = user; ok(); });
	connection.on('command:pass', (password, ok) => ok(name));
});
server.listen(Number(port));
