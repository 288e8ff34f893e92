/**
 * Hides what looks like a secret in text that others wrote, before it is kept or logged. Pure, and linear in its input.
 * Every log line goes through it, so its cost on lines without secrets counts.
 */

const HIDDEN = '[hidden]'

/** Names whose values are secrets, as the log knows them. `max_tokens: 512` counts tokens of a language model. */
export const SECRET_NAME =
  'token(?!s\\b)|secret|passw(?:or)?d|passwd|passphrase|\\bpwd|authorization|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|verifier|signature|credential|session[_-]?id'

/** What makers put before their tokens, so that scanners find them. */
const PREFIXES =
  'svca?_|whsec_|xox[a-z]-|xapp-|gh[a-z]_|github_pat_|glpat-|sk[-_]|rk_|pk_|npm_|pypi-|hf_|dop_v1_|shp[a-z]{2}_|dckr_pat_|hvs\\.|SG\\.|ya29\\.|AKIA|ASIA|AIza|AGE-SECRET-KEY-'

/** Rules whose sign is not in the text are skipped: most lines have none. */
type Rules = {
  readonly sign: (text: string) => boolean
  readonly rules: readonly (readonly [pattern: RegExp, replacement: string])[]
}

const includes =
  (part: string) =>
  (text: string): boolean =>
    text.includes(part)
const matches =
  (sign: RegExp) =>
  (text: string): boolean =>
    sign.test(text)

const RULES: readonly Rules[] = [
  {
    sign: includes('-----BEGIN '),
    rules: [[/-----BEGIN [A-Z ]{1,40}-----[^-]*(?:-----END [A-Z ]{1,40}-----)?/g, HIDDEN]],
  },
  {
    sign: includes('://'),
    rules: [
      // A user name and a password in an address, everything behind its question mark, and hooks whose path is the secret.
      [/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@"'<>]{1,200}@/gi, `$1${HIDDEN}@`],
      [/(\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s?#"'<>]{1,500}\?)[^\s"'<>]+/gi, `$1${HIDDEN}`],
      [/(:\/\/[\w.-]{1,100}\/(?:services|api\/webhooks|webhook|hooks)\/)[^\s"'<>]+/gi, `$1${HIDDEN}`],
    ],
  },
  {
    sign: matches(new RegExp(`bearer|basic|cookie|${SECRET_NAME}`, 'i')),
    rules: [
      [
        /(authorization\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?)(?:(?:bearer|basic|token|digest)\s{1,4})?[^\s"',;]+/gi,
        `$1${HIDDEN}`,
      ],
      // Elsewhere `token validation` is prose, and so is `basic authentication`.
      [
        /\b(bearer|(?:basic|token)(?=\s{1,4}[\w.~+/-]{0,200}[\d=]))(\s{1,4})[\w.~+/=-]{8,}/gi,
        `$1$2${HIDDEN}`,
      ],
      // A header of cookies is secret to its end.
      [/(\b(?:set-)?cookie["']?\s{0,4}[:=]\s{0,4})[^\r\n]+/gi, `$1${HIDDEN}`],
      // JSON, headers, forms and settings: the value of such a name.
      [
        new RegExp(
          `((?:${SECRET_NAME})[\\w.-]{0,40}\\\\?["']?\\s{0,4}(?:=>|[:=])\\s{0,4})(\\\\?"[^"]*"?|'[^']*'?|[^\\s,;&"'<>}]+)`,
          'gi',
        ),
        `$1${HIDDEN}`,
      ],
      // Options of a command: `--password hunter2`.
      [
        new RegExp(
          `(--[\\w-]{0,40}(?:${SECRET_NAME})[\\w-]{0,40}\\s{1,4})(?!-)(?:"[^"]*"?|'[^']*'?|\\S+)`,
          'gi',
        ),
        `$1${HIDDEN}`,
      ],
    ],
  },
  // JSON Web Tokens, whole or cut, and tokens with a prefix.
  { sign: includes('eyJ'), rules: [[/\beyJ[\w-]{8,}(?:\.[\w-]*){1,4}/g, HIDDEN]] },
  {
    sign: matches(new RegExp(`\\b(?:${PREFIXES})`)),
    rules: [[new RegExp(`\\b(?:${PREFIXES})[\\w.-]{8,}`, 'g'), HIDDEN]],
  },
  // Of a chat bot.
  { sign: includes(':AA'), rules: [[/\b\d{8,12}:AA[\w-]{30,}/g, HIDDEN]] },
  // The last part has letters only: `lodash@4.17.21` is a version.
  { sign: includes('@'), rules: [[/[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[a-z]{2,63}\b/gi, HIDDEN]] },
]

/** `known` are secrets that may stand in it as they are: an address, a key. */
export function maskSecrets(text: string, known: readonly string[] = []): string {
  let masked = text
  for (const secret of known.flatMap(spellingsOf)) masked = masked.replaceAll(secret, HIDDEN)
  for (const { sign, rules } of RULES) {
    if (!sign(masked)) continue
    for (const [pattern, replacement] of rules) masked = masked.replaceAll(pattern, replacement)
  }
  return hasLongRun(masked)
    ? masked.replaceAll(LONG_RUN, (run) => (run.split(/[-_/+=]/).some(looksRandom) ? HIDDEN : run))
    : masked
}

/** Long, and of letters and digits: more likely a key than a word. Ids of ours are shorter. */
const LONG_RUN = /(?<![\w+/-])[\w+/-]{32,}={0,2}/g
const IN_RUN = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/[\w+/-]/.test(String.fromCharCode(code))),
)

/** The same, asked of every 32nd character and its neighbors only: several times as fast as the pattern. */
function hasLongRun(text: string): boolean {
  const isIn = (at: number): boolean => IN_RUN[text.charCodeAt(at)] === 1
  for (let at = 31; at < text.length; at += 32) {
    let from = at
    while (from > at - 32 && isIn(from)) from -= 1
    if (from === at) continue
    let to = at + 1
    while (to - from <= 32 && to < text.length && isIn(to)) to += 1
    if (to - from > 32) return true
  }
  return false
}

/** As long as digests are (MD5, SHA-1, SHA-256, SHA-512) and the ids of traces, or shorter: those are no secrets. */
const isDigest = (part: string): boolean =>
  /^(?:[0-9a-f]+|[0-9A-F]+)$/.test(part) && (part.length < 32 || [32, 40, 64, 128].includes(part.length))

/** Paths, names of pods and classes have short parts, or few digits among their letters. */
function looksRandom(part: string): boolean {
  if (part.length < 16 || isDigest(part) || !/\d/.test(part) || !/[A-Za-z]/.test(part)) return false
  if (part.length >= 32) return true
  return /[a-z]/.test(part) && /[A-Z]/.test(part) && /\d[A-Za-z]+\d/.test(part)
}

/** Shorter ones would hide ordinary words. */
const SECRET_MIN = 6

/** As it is, as JSON and forms write it, and of an address what stands behind the host. The longest first. */
function spellingsOf(secret: string): string[] {
  const url = URL.parse(secret)
  const inside = url ? [secret, url.href, `${url.pathname}${url.search}`, url.pathname] : [secret]
  return [...new Set(inside.flatMap((part) => [part, part.replaceAll('/', '\\/'), encodeURIComponent(part)]))]
    .filter((part) => part.length >= SECRET_MIN)
    .toSorted((a, b) => b.length - a.length)
}
