import { createHash } from "node:crypto";
import { escapeHtml } from "../../core/printable.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { SOLUTION_COOKIE } from "./bot-tokens.ts";

/** What a page of a challenge is about. */
interface ChallengeFacts {
  /** Of printable ASCII without markup, as BotTokens makes it. */
  readonly task: string;
  readonly difficulty: number;
  /** Whether the client has sent a solution that is refused: it is asked to begin, so that no browser goes in circles. */
  readonly isAgain: boolean;
  /** Whether the request was to send something, which the browser has to send again. */
  readonly sends: boolean;
  /** Of printable ASCII, as the log has it. */
  readonly requestId: string;
}

/** The response that asks a browser to solve a task: whole in itself. docs/bots.md#the-page */
export function challengeResponse(facts: ChallengeFacts): PrebuiltResponse {
  const page = PARTS.map((part, i) =>
    i % 2 === 0 ? part : escapeHtml(String(facts[part as keyof ChallengeFacts])),
  ).join("");
  return new PrebuiltResponse(403, [...FIELDS, ["X-Request-Id", facts.requestId]], page);
}

/**
 * The work, in a worker. SHA-256 is SubtleCrypto's where that is there (not in clear text) and not slower: one call of it is a trip to
 * another thread. A text of a task is one block. FIPS 180-4
 */
const WORK = `
const K=new Int32Array(64),H=new Int32Array(8),W=new Int32Array(64);
const fraction=x=>(x-Math.floor(x))*4294967296|0;
for(let c=2,n=0;n<64;c++){
  let prime=true;
  for(let d=2;d*d<=c;d++)if(c%d===0)prime=false;
  if(!prime)continue;
  if(n<8)H[n]=fraction(Math.sqrt(c));
  K[n++]=fraction(Math.cbrt(c));
}
const right=(x,n)=>x>>>n|x<<32-n;
function ownWord(text){
  const length=text.length;
  W.fill(0,0,16);
  for(let i=0;i<length;i++)W[i>>2]|=text.charCodeAt(i)<<24-(i&3)*8;
  W[length>>2]|=0x80<<24-(length&3)*8;
  W[15]=length*8;
  for(let i=16;i<64;i++){
    const x=W[i-15],y=W[i-2];
    W[i]=W[i-16]+(right(x,7)^right(x,18)^x>>>3)+W[i-7]+(right(y,17)^right(y,19)^y>>>10)|0;
  }
  let a=H[0],b=H[1],c=H[2],d=H[3],e=H[4],f=H[5],g=H[6],h=H[7];
  for(let i=0;i<64;i++){
    const t=h+(right(e,6)^right(e,11)^right(e,25))+(e&f^~e&g)+K[i]+W[i]|0;
    const u=(right(a,2)^right(a,13)^right(a,22))+(a&b^a&c^b&c)|0;
    h=g;g=f;f=e;e=d+t|0;d=c;c=b;b=a;a=t+u|0;
  }
  return H[0]+a|0;
}
const encoder=new TextEncoder();
async function subtleWord(text){
  return new DataView(await crypto.subtle.digest("SHA-256",encoder.encode(text))).getInt32(0);
}
const BATCH=64;
const ownWords=texts=>texts.map(ownWord);
const subtleWords=texts=>Promise.all(texts.map(subtleWord));
onmessage=async({data:{task,bits,from,step}})=>{
  let next=from,tried=0,told=0;
  const take=()=>{
    const texts=[];
    for(let i=0;i<BATCH;i++,next+=step)texts.push(task+"."+next.toString(36));
    return texts;
  };
  const test=(texts,words)=>{
    tried+=texts.length;
    const at=words.findIndex(word=>Math.clz32(word)>=bits);
    if(at>=0)postMessage({solution:texts[at]});
    return at>=0;
  };
  const time=async words=>{
    const texts=take(),began=performance.now(),found=await words(texts);
    return [performance.now()-began,test(texts,found)];
  };
  let words=ownWords;
  if(self.crypto&&crypto.subtle){
    await time(ownWords);
    const [own,isOwn]=await time(ownWords);
    if(isOwn)return;
    const [subtle,isSubtle]=await time(subtleWords);
    if(isSubtle)return;
    if(subtle<own)words=subtleWords;
  }
  for(;;){
    const texts=take();
    if(test(texts,words===ownWords?ownWords(texts):await words(texts)))return;
    if(tried-told>=4096){postMessage({tried:tried-told});told=tried;}
  }
};
`;

/** Runs the workers, shows how far they are, and loads the page again with the solution in a cookie. */
const SCRIPT = `
(()=>{
const main=document.querySelector("main"),{task,bits,again,sends}=main.dataset;
const bar=document.querySelector("progress"),state=document.getElementById("state");
const button=document.querySelector("button");
const say=text=>{state.textContent=text;};
const keep=(value,seconds)=>{
  const secure=location.protocol==="https:"?"; Secure":"";
  document.cookie="${SOLUTION_COOKIE}="+value+"; Path=/; Max-Age="+seconds+"; SameSite=Lax"+secure;
};
const fail=()=>say("Your browser could not do the calculation. Please reload this page, or try another browser.");
function finish(solution){
  bar.value=100;
  keep(solution,300);
  if(!document.cookie.includes("${SOLUTION_COOKIE}=")){
    say("The check is done, but your browser keeps no cookies for this site, so the result is lost. Please allow cookies and reload this page.");
  }else if(sends==="true"){
    say("The check is done. Nothing was sent yet: please reload this page to send what you entered.");
  }else{
    say("The check is done. The page is loading.");
    location.reload();
  }
}
function start(){
  button.hidden=true;
  bar.hidden=false;
  say("Calculating. This takes a moment.");
  const count=Math.min(Math.max(navigator.hardwareConcurrency||2,1),8),workers=[],chance=1/2**bits;
  let tried=0;
  const url=URL.createObjectURL(new Blob([document.getElementById("work").textContent],{type:"text/javascript"}));
  for(let from=0;from<count;from++){
    const worker=new Worker(url);
    workers.push(worker);
    worker.onerror=fail;
    worker.onmessage=({data})=>{
      if(data.solution){
        for(const one of workers)one.terminate();
        finish(data.solution);
      }else{
        tried+=data.tried;
        bar.value=Math.floor(100*(1-(1-chance)**tried));
      }
    };
    worker.postMessage({task,bits:Number(bits),from,step:count});
  }
}
keep("",0);
const begin=()=>{try{start();}catch{fail();}};
button.onclick=()=>{begin();bar.focus();};
if(again==="true"){
  say("The result of the check did not count: it came too late, or from another network than the task. Please try again.");
  button.hidden=false;
}else begin();
})();
`;

const STYLE = `
:root{color-scheme:light dark;--back:#f6f7f9;--card:#fff;--text:#1d2430;--soft:#5a6577;--line:#dde2ea;--mark:#1f5fbf;--on:#fff}
@media (prefers-color-scheme:dark){:root{--back:#12161d;--card:#1b212b;--text:#e8ecf2;--soft:#a3aebf;--line:#313a48;--mark:#8ab4f8;--on:#12161d}}
*{box-sizing:border-box}
[hidden]{display:none!important}
body{margin:0;min-height:100vh;display:flex;padding:1rem;background:var(--back);color:var(--text);
font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
main{width:100%;max-width:34rem;margin:auto;padding:clamp(1.25rem,5vw,2.5rem);background:var(--card);
border:1px solid var(--line);border-radius:.75rem}
h1{margin:0 0 1rem;font-size:clamp(1.5rem,6vw,2.1rem);line-height:1.2}
p{margin:0}
progress{display:block;width:100%;height:.75rem;margin:1.5rem 0 .5rem;accent-color:var(--mark)}
progress:focus{outline:none}
#state{min-height:1.55em;margin-top:1rem;font-weight:600}
button{margin-top:1rem;padding:.55rem 1.1rem;font:inherit;font-weight:600;color:var(--on);background:var(--mark);
border:0;border-radius:.5rem;cursor:pointer}
button:focus-visible{outline:3px solid var(--text);outline-offset:2px}
noscript p{margin-top:1.25rem;padding:.85rem 1rem;border-left:4px solid var(--mark);background:var(--back)}
.id{margin-top:1.75rem;padding-top:1.25rem;border-top:1px solid var(--line);color:var(--soft);font-size:.875rem}
code{display:inline-block;margin-top:.35rem;color:var(--text);font:.875rem/1.5 ui-monospace,Menlo,Consolas,monospace;
overflow-wrap:anywhere;user-select:all}
`;

/** Names of ChallengeFacts in braces stand for its values. */
const PAGE = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>Checking your browser</title>
<style>${STYLE}</style>
</head>
<body>
<main data-task="{task}" data-bits="{difficulty}" data-again="{isAgain}" data-sends="{sends}">
<h1>Checking your browser</h1>
<p>To keep out programs that copy sites in bulk, this site asks your browser for a short calculation before it shows the page. There
is nothing for you to do. A cookie remembers the result; nothing else about you is kept.</p>
<progress max="100" value="0" aria-label="Progress of the check" tabindex="-1" hidden></progress>
<p id="state" role="status"></p>
<button type="button" hidden>Try again</button>
<noscript><p>The calculation needs JavaScript, which is switched off here. Please switch it on for this site and reload the page. If
you cannot, tell the support of this site the request ID below: they can let you in without the check.</p></noscript>
<p class="id">If you need help, tell the support of this site the request ID:<br><code>{requestId}</code></p>
</main>
<script type="text/plain" id="work">${WORK}</script>
<script>${SCRIPT}</script>
</body>
</html>
`;
/** Texts and names in turns. */
const PARTS: readonly string[] = PAGE.split(/\{(task|difficulty|isAgain|sends|requestId)\}/);

/** Allows the page its own style, its own script and the workers that this makes, and nothing else. */
const POLICY = [
  "default-src 'none'",
  `script-src '${sourceHash(SCRIPT)}'`,
  `style-src '${sourceHash(STYLE)}'`,
  "worker-src blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

function sourceHash(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

const FIELDS: readonly (readonly [string, string])[] = [
  ["Content-Type", "text/html; charset=utf-8"],
  ["Cache-Control", "no-store"],
  ["Vary", "Accept, Cookie, User-Agent"],
  ["Content-Security-Policy", POLICY],
  ["X-Content-Type-Options", "nosniff"],
  ["X-Robots-Tag", "noindex"],
];
