import { verifyTls } from "../src/net/verified-tls.ts";
import { runWorker } from "../src/worker/worker-main.ts";

verifyTls();
runWorker();
