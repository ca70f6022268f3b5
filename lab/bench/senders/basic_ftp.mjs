import { createRequire } from "node:module";

const { Client } = createRequire("/srv/")("basic-ftp");
const url = new URL(process.argv[2]);
const client = new Client();
await client.access({
	host: url.hostname.replace(/^\[|\]$/g, ""),
	port: Number(url.port || 21),
	user: decodeURIComponent(url.username) || undefined,
	password: decodeURIComponent(url.password) || undefined,
});
await client.downloadTo(process.stdout, decodeURIComponent(url.pathname));
client.close();
