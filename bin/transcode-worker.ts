import { runCodecThread } from "../src/app/codec-thread.ts";
import { verifyTls } from "../src/app/verified-tls.ts";

verifyTls();
runCodecThread();
