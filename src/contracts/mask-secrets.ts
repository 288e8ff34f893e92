/** Hides what looks like a secret in text that others wrote, before it is kept or logged. Pure, and linear in its input. */

const HIDDEN = '[hidden]'

/** Names whose values are secrets, as the log knows them. */
const SECRET_NAME =
  'token|secret|passw(?:or)?d|passwd|authorization|cookie|api[_-]?key|verifier|signature|credential'

const PATTERNS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [A-Z ]{1,40}-----[^-]*(?:-----END [A-Z ]{1,40}-----)?/g, HIDDEN],
  // A user name and a password in an address, and everything behind its question mark.
  [/(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@"'<>]{1,200}@/gi, `$1${HIDDEN}@`],
  [/(\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s?#"'<>]{1,500}\?)[^\s"'<>]+/gi, `$1${HIDDEN}`],
  [/\b(bearer|basic|token)(\s+)[\w.~+/=-]{8,}/gi, `$1$2${HIDDEN}`],
  // JSON, headers, forms and settings: the value of such a name.
  [
    new RegExp(
      `(["']?[\\w.-]{0,40}(?:${SECRET_NAME})[\\w.-]{0,40}["']?\\s{0,4}[:=]\\s{0,4})("[^"]*"?|'[^']*'?|[^\\s,;&"'<>}]+)`,
      'gi',
    ),
    `$1${HIDDEN}`,
  ],
  // JSON Web Tokens, and tokens that their makers gave a prefix so that scanners find them.
  [/\beyJ[\w-]{8,}(?:\.[\w-]*){1,4}/g, HIDDEN],
  [/\b(?:svc_|whsec_|xox[a-z]-|gh[a-z]_|github_pat_|glpat-|sk[-_]|rk_|pk_|npm_|AKIA|AIza)[\w-]{8,}/g, HIDDEN],
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/g, HIDDEN],
]

/** Long and of letters and digits: more likely a key than a word. Ids of ours are shorter. */
const RANDOM = /[A-Za-z0-9+/_-]{32,}={0,2}/g
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const looksRandom = (run: string): boolean => !UUID.test(run) && /\d/.test(run) && /[A-Za-z]/.test(run)

/** `known` are secrets that may stand in it as they are: an address, a key. */
export function maskSecrets(text: string, known: readonly string[] = []): string {
  let masked = text
  for (const secret of known.flatMap(spellingsOf)) masked = masked.replaceAll(secret, HIDDEN)
  for (const [pattern, replacement] of PATTERNS) masked = masked.replaceAll(pattern, replacement)
  return masked.replaceAll(RANDOM, (run) => (looksRandom(run) ? HIDDEN : run))
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
