import { verifyTls } from "../src/net/verified-tls.ts";
import { runGeneratorThread } from "../src/tools/loadgen/generator-thread.ts";

verifyTls();
runGeneratorThread();
