import { verifyTls } from "../src/app/verified-tls.ts";
import { runGeneratorThread } from "../src/tools/loadgen/generator-thread.ts";

verifyTls();
runGeneratorThread();
