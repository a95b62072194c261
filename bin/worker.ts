import { verifyTls } from "../src/app/verified-tls.ts";
import { runWorker } from "../src/app/worker-main.ts";

verifyTls();
runWorker();
