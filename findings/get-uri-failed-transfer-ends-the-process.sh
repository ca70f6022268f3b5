#!/usr/bin/env bash
# get-uri (npm) gives a stream for an ftp URL. It is what proxy-agent and pac-proxy-agent fetch PAC files with.
#
# Guess: a transfer that ends with 426 emits "error" on the stream, as a broken http response does.
# Seen (get-uri 8.0.2 with basic-ftp 6.2.6, Node 20): the stream emits "end" and "close" after half of the file, and no
# "error". The error is a rejected promise that nobody holds, so the process ends with exit code 1. A program that catches
# "unhandledRejection" goes on with half of the file. A missing file, in contrast, is a rejection of getUri itself.
# Why it matters: no try, await or listener of the caller can catch it, so one transfer broken off ends a service.
source "$(dirname "$0")/kit/kit.bash"
packages get-uri@8.0.2 basic-ftp@6.2.6
mkdir served
echo 'all of the file' >served/file
serve served cut=7

cat >npm/read.mjs <<'END'
import { getUri } from "get-uri";

const [url, ignore] = process.argv.slice(2);
if (ignore) {
	process.on("unhandledRejection", (err) => {
		console.log("unhandled:", err.message);
		process.exit(0);
	});
}
try {
	const stream = await getUri(url);
	let text = "";
	stream.on("error", (err) => console.log("error:", err.message));
	stream.on("data", (data) => (text += data));
	stream.on("end", () => console.log("end after", JSON.stringify(text)));
	stream.on("close", () => console.log("close after", JSON.stringify(text)));
} catch (err) {
	console.log("thrown:", err.message);
}
END

# read_url NAME IGNORE sets $got to the exit code and what the program says.
read_url() {
	local status=0
	limited node npm/read.mjs "ftp://127.0.0.1:$port/$1" "${@:2}" >stdout 2>stderr || status=$?
	got="exit code $status, $(tr '\n' ' ' <stdout)$(grep -o '^FTPError: 426' stderr || true)"
}

read_url none
expect 'a missing file' 'exit code 0, thrown: File does not exist at the specified endpoint ' "$got"
read_url file
expect 'half of a file' 'exit code 1, end after "all of " close after "all of " FTPError: 426' "$got"
read_url file ignore
expect 'half of a file, rejections that nobody holds caught' 'exit code 0, end after "all of " close after "all of " unhandled: 426 Connection closed; transfer aborted. ' "$got"
