import { createRequire } from "node:module";

const { getUri } = createRequire("/srv/")("get-uri");
(await getUri(process.argv[2])).pipe(process.stdout);
