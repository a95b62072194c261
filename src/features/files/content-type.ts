/**
 * Content types by file extension, lower case: script types are exact, text types name their charset. docs/files.md
 *
 * mrmime 2.0.1 gives the same for 57 of these 106 extensions, and for 15 more but for the charset. 26 it does not know
 * (`ico`, `tar`, `xlsx`, `mkv` …) and 8 it answers otherwise (`js` is `text/javascript`, `xml` `text/xml`), so most of this
 * table would stay. The 358 others that it knows would no longer be UNKNOWN_TYPE; 98 of them are kinds of XML, which a
 * browser shows and whose scripts it runs.
 */
const TYPES: ReadonlyMap<string, string> = new Map([
  ...rows("text/html; charset=utf-8", "html htm shtml"),
  ...rows("text/css; charset=utf-8", "css"),
  ...rows("text/plain; charset=utf-8", "txt text log conf ini yaml yml toml"),
  ...rows("text/markdown; charset=utf-8", "md markdown"),
  ...rows("text/csv; charset=utf-8", "csv"),
  ...rows("text/tab-separated-values; charset=utf-8", "tsv"),
  ...rows("text/calendar; charset=utf-8", "ics"),
  ...rows("text/vcard; charset=utf-8", "vcf"),
  ...rows("text/vtt; charset=utf-8", "vtt"),
  ...rows("text/x-component; charset=utf-8", "htc"),
  ...rows("application/javascript", "js mjs cjs"),
  ...rows("application/json", "json map"),
  ...rows("application/ld+json", "jsonld"),
  ...rows("application/geo+json", "geojson"),
  ...rows("application/manifest+json", "webmanifest"),
  ...rows("application/wasm", "wasm"),
  ...rows("application/xml", "xml xsl xsd"),
  ...rows("application/xhtml+xml", "xhtml"),
  ...rows("application/rss+xml", "rss"),
  ...rows("application/atom+xml", "atom"),
  ...rows("application/pdf", "pdf"),
  ...rows("application/rtf", "rtf"),
  ...rows("application/epub+zip", "epub"),
  ...rows("application/zip", "zip"),
  ...rows("application/gzip", "gz tgz"),
  ...rows("application/zstd", "zst"),
  ...rows("application/x-bzip2", "bz2"),
  ...rows("application/x-xz", "xz"),
  ...rows("application/x-tar", "tar"),
  ...rows("application/x-7z-compressed", "7z"),
  ...rows("application/vnd.rar", "rar"),
  ...rows("application/java-archive", "jar war ear"),
  ...rows("application/vnd.apple.mpegurl", "m3u8"),
  ...rows("application/dash+xml", "mpd"),
  ...rows("application/vnd.ms-fontobject", "eot"),
  ...rows("application/msword", "doc"),
  ...rows("application/vnd.ms-excel", "xls"),
  ...rows("application/vnd.ms-powerpoint", "ppt"),
  ...rows("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"),
  ...rows("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
  ...rows("application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"),
  ...rows("application/vnd.oasis.opendocument.text", "odt"),
  ...rows("application/vnd.oasis.opendocument.spreadsheet", "ods"),
  ...rows("application/vnd.android.package-archive", "apk"),
  ...rows("font/woff", "woff"),
  ...rows("font/woff2", "woff2"),
  ...rows("font/ttf", "ttf"),
  ...rows("font/otf", "otf"),
  ...rows("image/png", "png"),
  ...rows("image/apng", "apng"),
  ...rows("image/jpeg", "jpg jpeg jfif"),
  ...rows("image/gif", "gif"),
  ...rows("image/webp", "webp"),
  ...rows("image/avif", "avif"),
  ...rows("image/jxl", "jxl"),
  ...rows("image/heic", "heic"),
  ...rows("image/svg+xml", "svg svgz"),
  ...rows("image/x-icon", "ico cur"),
  ...rows("image/bmp", "bmp"),
  ...rows("image/tiff", "tif tiff"),
  ...rows("audio/mpeg", "mp3"),
  ...rows("audio/mp4", "m4a"),
  ...rows("audio/aac", "aac"),
  ...rows("audio/ogg", "oga ogg opus"),
  ...rows("audio/wav", "wav"),
  ...rows("audio/flac", "flac"),
  ...rows("audio/midi", "mid midi"),
  ...rows("video/mp4", "mp4 m4v"),
  ...rows("video/webm", "webm"),
  ...rows("video/ogg", "ogv"),
  ...rows("video/mpeg", "mpg mpeg"),
  ...rows("video/quicktime", "mov"),
  ...rows("video/x-matroska", "mkv"),
  ...rows("video/mp2t", "ts m2ts"),
  ...rows("video/x-msvideo", "avi"),
  ...rows("model/gltf-binary", "glb"),
  ...rows("model/gltf+json", "gltf"),
]);

/** What a file of an unknown kind is sent as: nothing that a browser would run or show. */
const UNKNOWN_TYPE = "application/octet-stream";

/**
 * The content type for a file.
 * @param name the file's name or path; only what follows the last dot of the last segment counts
 */
export function contentTypeOf(name: string): string {
  const dot = name.lastIndexOf(".");
  if (dot < 0 || dot < name.lastIndexOf("/")) return UNKNOWN_TYPE;
  return TYPES.get(name.slice(dot + 1).toLowerCase()) ?? UNKNOWN_TYPE;
}

/** The coding in which a file is itself, by its name; "" for most. An .svgz is an SVG image in gzip. */
export function ownCodingOf(name: string): string {
  return name.toLowerCase().endsWith(".svgz") ? "gzip" : "";
}

function rows(type: string, extensions: string): [string, string][] {
  return extensions.split(" ").map((extension) => [extension, type]);
}
