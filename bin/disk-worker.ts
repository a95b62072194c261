import { runDiskThread } from "../src/app/disk/disk-thread.ts";
import { verifyTls } from "../src/net/verified-tls.ts";

verifyTls();
runDiskThread();
