#!/usr/bin/env bash
# jsftp (npm): get(path, file, callback) "retrieves a file and saves it", and then calls back, says its README.
#
# Guess: the callback comes once the file is written, with an error if the transfer ended with 426.
# Seen (jsftp 2.1.3, Node 20): it never comes after a transfer, whole or broken off, and the file that it has made is
# empty, though the server has sent all and said 226. It comes for a missing file. get(path, callback) gives a stream that ends alike for the whole file and
# for half of one with 426: the final reply is read by nobody.
# Why it matters: a program that waits waits for ever, unless its own clock ends it; one that streams takes half for all.
source "$(dirname "$0")/kit/kit.bash"
packages jsftp@2.1.3
mkdir served
echo 'all of the file' >served/file

cat >npm/get.js <<'END'
const fs = require("fs");
const Ftp = require("jsftp");

const [how, port, name] = process.argv.slice(2);
const ftp = new Ftp({ host: "127.0.0.1", port: Number(port) });
const say = (...words) => {
	console.log(...words);
	process.exit();
};
const kept = () => JSON.stringify(String(fs.existsSync("out") ? fs.readFileSync("out") : ""));
setTimeout(() => say("no call in 5 s, the file has", kept()), 5000);
if (how === "file") {
	ftp.get(name, "out", (err) => say(err ? "error " + err.message : "called, the file has " + kept()));
} else {
	ftp.get(name, (err, stream) => {
		if (err) say("error", err.message);
		let text = "";
		stream.on("error", (err) => say("stream's error", err.message));
		stream.on("data", (data) => (text += data));
		stream.on("end", () => setTimeout(say, 1000, "end after", JSON.stringify(text)));
		stream.resume();
	});
}
END
get() { (cd "$work/npm" && rm -f out && limited node get.js "$1" "$port" "$2"); }

serve served
expect 'whole, to a file' 'no call in 5 s, the file has ""' "$(get file file)"
expect 'missing, to a file' 'error 550 No such file.' "$(get file none)"
expect 'whole, as a stream' 'end after "all of the file\n"' "$(get stream file)"
serve served cut=7
expect 'half and 426, to a file' 'no call in 5 s, the file has ""' "$(get file file)"
expect 'half and 426, as a stream' 'end after "all of "' "$(get stream file)"
