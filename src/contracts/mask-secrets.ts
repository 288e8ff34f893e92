/**
 * Hides what looks like a secret in text that others wrote, before it is kept or logged. Pure, and linear in its input.
 * Every log line goes through it, so its cost on lines without secrets counts.
 */

const HIDDEN = '[hidden]'

/**
 * Names whose values are secrets, as the log knows them. `max_tokens: 512` counts tokens of a language model, and `tests_passed`
 * what passed.
 */
export const SECRET_NAME =
  'token(?!s\\b)|secret|passw(?:or)?d|passwd|passphrase|[_-]pass(?![a-z])|\\bpwd|authorization|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key|verifier|signature|credential|session[_-]?id'

/** What makers put before their tokens, so that scanners find them. */
const PREFIXES =
  'svc[am]?_|whsec_|xox[a-z]-|xapp-|gh[a-z]_|github_pat_|glpat-|sk[-_]|rk_|pk_|npm_|pypi-|hf_|dop_v1_|shp[a-z]{2}_|dckr_pat_|hvs\\.|SG\\.|ya29\\.|AKIA|ASIA|AIza|AGE-SECRET-KEY-'

/** Rules whose sign is not in the text are skipped: most lines have none. */
type Rules = {
  readonly sign: (text: string) => boolean
  readonly rules: readonly ((text: string) => string)[]
}

const includes =
  (part: string) =>
  (text: string): boolean =>
    text.includes(part)
const matches =
  (sign: RegExp) =>
  (text: string): boolean =>
    sign.test(text)
const replacing =
  (pattern: RegExp, replacement: string) =>
  (text: string): string =>
    text.replaceAll(pattern, replacement)
/** For patterns that take a whole run at once: what is inside is looked at by a function, so that no start is tried twice. */
const replacingEach =
  (pattern: RegExp, replace: (found: string) => string) =>
  (text: string): string =>
    text.replaceAll(pattern, replace)

/** In quotes, with the quotes inside it that a backslash marks; in JSON that is text of JSON those are marked once more. */
const DOUBLE_QUOTED = String.raw`\\"(?:[^"\\]|\\[^"\\]|\\\\(?:\\[^]|[^\\]))*(?:\\")?|"(?:[^"\\]|\\[^])*"?`
const QUOTED = String.raw`${DOUBLE_QUOTED}|'(?:[^'\\]|\\[^])*'?`
/** In JSON, headers, forms and settings: such a name, up to its value. Of `tokens` a number is how many there are. */
const NAMED = `(?:${SECRET_NAME}|tokens(?=\\\\?["']?\\s{0,4}(?:=>|[:=])\\s{0,4}[\\\\"'{[]))[\\w.-]{0,40}\\\\?["']?\\s{0,4}(?:=>|[:=])\\s{0,4}`

const NAMED_NESTED = new RegExp(`${NAMED}(?=[{[])`, 'gi')
const NESTED_PARTS = new RegExp(`${DOUBLE_QUOTED}|[{}[\\]]`, 'g')

const PRIVATE_KEYS: Rules = { sign: includes('-----BEGIN '), rules: [hidePrivateKeys] }
/** JSON Web Tokens, whole or cut, tokens with a prefix, and those of a chat bot. */
const TOKENS: readonly Rules[] = [
  { sign: includes('eyJ'), rules: [replacingEach(/[\w.-]+/g, hideWebToken)] },
  {
    sign: matches(new RegExp(`\\b(?:${PREFIXES})`)),
    rules: [replacing(new RegExp(`\\b(?:${PREFIXES})[\\w.-]{8,}`, 'g'), HIDDEN)],
  },
  { sign: includes(':AA'), rules: [replacing(/\b\d{8,12}:AA[\w-]{30,}/g, HIDDEN)] },
]

/** In a sentence: all that follows, unless it says something about it. */
const SAID = new RegExp(
  `(\\bpass(?:phrase|word|code)\\s{1,4}is:?\\s{1,4})(?!(?:${[
    '(?:a|an|the|this|that|no|not|now|never|only|always|also|still|already|too|very|so|at|in|on|for|from|to|by|of|as)',
    '(?:required|needed|missing|empty|blank|wrong|incorrect|correct|invalid|valid|weak|strong|short|long|expired|unknown|optional)',
    '(?:set|unset|reset|changed|stored|saved|kept|sent|hashed|encrypted|checked|verified|read|used|asked|rejected|accepted|different|same|equal)',
    '(?:being|going|about|longer|shorter|older|ok|okay|fine|good|bad|safe|unsafe|secret|plain|your|yours|his|her|their|ours|what|when|where|why|how|one)',
  ].join('|')})(?![\\w-]))(?:${QUOTED}|[^\\s"'][^\\r\\n]*)`,
  'gi',
)

/** As they are printed or stored: fourteen to nineteen digits of a maker of cards, in groups or not. */
const CARD = /(?<![\w.-])(?:\d[ -]?){13,18}\d(?![\w-])/g
const CARD_MAKER =
  /^(?:4\d{12,18}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[068]\d{12}|35\d{14}|6(?:011|5\d\d)\d{12})$/

/** Number of a bank account: the country, two digits that check the rest, and the rest. */
const IBAN = /(?<!\w)[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{4}){2,7}(?:[ ]?[A-Z0-9]{1,3})?(?!\w)/g

const RULES: readonly Rules[] = [
  PRIVATE_KEYS,
  { sign: includes('://'), rules: [replacingEach(/:\/\/[^\s"'<>]+/g, hideInAddress)] },
  {
    sign: matches(new RegExp(`bearer|basic|cookie|tokens|${SECRET_NAME}`, 'i')),
    rules: [
      // What stands in quotes, or is an object, is hidden with the other values below.
      replacing(
        /(authorization\\?["']?\s{0,4}[:=]\s{0,4})(?:(?:bearer|basic|token|digest)\s{1,4})?[^\s"',;{[\\][^\s"',;]*/gi,
        `$1${HIDDEN}`,
      ),
      // Elsewhere `token validation` is prose, and so is `basic authentication`.
      replacing(
        /\b(bearer|(?:basic|token)(?=\s{1,4}[\w.~+/-]{0,200}[\d=]))(\s{1,4})[\w.~+/=-]{8,}/gi,
        `$1$2${HIDDEN}`,
      ),
      // A header of cookies is secret to its end.
      replacing(/(\b(?:set-)?cookie["']?\s{0,4}[:=]\s{0,4})[^\r\n]+/gi, `$1${HIDDEN}`),
      hideNested,
      replacing(
        new RegExp(`(${NAMED})(?:${QUOTED}|\\[hidden\\][^\\s,;&"'<>}\\]]*|[^\\s,;&"'<>}]+)`, 'gi'),
        `$1${HIDDEN}`,
      ),
      // Options of a command: `--password hunter2`.
      replacing(
        new RegExp(
          `((?<![\\w-])--[\\w-]{0,40}(?:${SECRET_NAME})[\\w-]{0,40}\\s{1,4})(?!-)(?:${QUOTED}|\\S+)`,
          'gi',
        ),
        `$1${HIDDEN}`,
      ),
    ],
  },
  // Of signed addresses that are written without their scheme.
  { sign: includes('sig='), rules: [replacing(/([?&;]sig=)[^\s&"'<>]+/gi, `$1${HIDDEN}`)] },
  {
    sign: matches(/pass(?:phrase|word|code)\s+is\b/i),
    rules: [replacing(SAID, `$1${HIDDEN}`)],
  },
  { sign: matches(/\d{4}[ -]?\d{4}/), rules: [replacingEach(CARD, hideCard)] },
  { sign: matches(/[A-Z]{2}\d{2}[ ]?[A-Z0-9]{4}/), rules: [replacingEach(IBAN, hideAccount)] },
  ...TOKENS,
  // The last part has letters only: `lodash@4.17.21` is a version.
  {
    sign: includes('@'),
    rules: [replacing(/(?<![\w.+-])[\w.+-]+@(?:[\w-]{1,63}\.){1,8}[a-z]{2,63}\b/gi, HIDDEN)],
  },
]

/** `known` are secrets that may stand in it as they are: an address, a key. */
export function maskSecrets(text: string, known: readonly string[] = []): string {
  let masked = text
  for (const secret of known.flatMap(spellingsOf)) masked = masked.replaceAll(secret, HIDDEN)
  masked = applied(RULES, masked)
  return hasLongRun(masked)
    ? masked.replaceAll(LONG_RUN, (run) => (run.split(/[-_/+=]/).some(looksRandom) ? HIDDEN : run))
    : masked
}

/** In source: only what is a token by its form. Names such as `password` are code there, and what follows them too. */
export const maskTokens = (text: string): string => applied(TOKENS, text)

function applied(all: readonly Rules[], text: string): string {
  let masked = text
  for (const { sign, rules } of all) {
    if (!sign(masked)) continue
    for (const hide of rules) masked = hide(masked)
  }
  return masked
}

/** To where it says that it ends; one that was cut, to the end of the text. */
function hidePrivateKeys(text: string): string {
  const begin = /-----BEGIN [A-Z0-9 ]{1,40}-----/g
  const end = /-----END [A-Z0-9 ]{1,40}-----/g
  let masked = ''
  let copied = 0
  for (let found = begin.exec(text); found; found = begin.exec(text)) {
    masked += text.slice(copied, found.index) + HIDDEN
    end.lastIndex = begin.lastIndex
    if (!end.test(text)) return masked
    copied = begin.lastIndex = end.lastIndex
  }
  return masked + text.slice(copied)
}

/** The value of such a name that is a list or an object, however deep; one that was cut, to the end of the text. */
function hideNested(text: string): string {
  let masked = ''
  let copied = 0
  NAMED_NESTED.lastIndex = 0
  while (NAMED_NESTED.test(text)) {
    masked += text.slice(copied, NAMED_NESTED.lastIndex) + HIDDEN
    copied = NAMED_NESTED.lastIndex = endOfNested(text, NAMED_NESTED.lastIndex)
  }
  return copied === 0 ? text : masked + text.slice(copied)
}

/** Brackets in quotes do not count, nor do those of the other kind. Single quotes are apostrophes as often. */
function endOfNested(text: string, start: number): number {
  const [opening, closing] = text[start] === '{' ? '{}' : '[]'
  NESTED_PARTS.lastIndex = start
  let depth = 0
  for (let found = NESTED_PARTS.exec(text); found; found = NESTED_PARTS.exec(text)) {
    if (found[0] === opening) depth += 1
    else if (found[0] === closing) depth -= 1
    if (depth === 0) return NESTED_PARTS.lastIndex
  }
  return text.length
}

/** From `://` on: user name and password, all behind the question mark, and the path of hooks, which is their secret. */
function hideInAddress(address: string): string {
  let masked = ''
  // Another one may stand in its path.
  for (const part of address.split('://').slice(1)) {
    const host = part.slice(credentialsLength(part))
    masked += `://${host.length === part.length ? '' : `${HIDDEN}@`}`
    const query = host.indexOf('?') + 1
    if (query > 0 && query < host.length) return `${masked}${host.slice(0, query)}${HIDDEN}`
    masked += host.replace(HOOK, `$1${HIDDEN}`)
  }
  return masked
}

const HOOK = /^([\w.:-]{1,100}\/(?:services|api\/webhooks|webhook|hooks)\/).+/i

/** With the `@` behind them. */
function credentialsLength(part: string): number {
  const end = part.search(/[/?#]/)
  const length = (end === -1 ? part : part.slice(0, end)).lastIndexOf('@') + 1
  // A password may hold anything; behind a host stands a port.
  return length || (/^[^/?#@:[]{1,100}:(?!\d{1,5}(?:[/?#]|$))[^@]{1,200}@/.exec(part)?.[0].length ?? 0)
}

/** Ids and times have as many digits: they do not begin as a card does, or their last digit does not check the others. */
function hideCard(found: string): string {
  const digits = found.replaceAll(/\D/g, '')
  return CARD_MAKER.test(digits) && luhnSum(digits) % 10 === 0 ? HIDDEN : found
}

/** Every second digit from the right is doubled, and of two digits their sum counts. */
const luhnSum = (digits: string): number =>
  [...digits].toReversed().reduce((sum, digit, n) => {
    const value = Number(digit) * (n % 2 === 0 ? 1 : 2)
    return sum + (value > 9 ? value - 9 : value)
  }, 0)

/** ISO 13616: with the first four characters at the end, and letters as numbers from 10 on, it leaves 1 of 97. */
function hideAccount(found: string): string {
  const account = found.replaceAll(' ', '')
  const digits = [...account.slice(4), ...account.slice(0, 4)].map((one) => Number.parseInt(one, 36)).join('')
  return [...digits].reduce((rest, digit) => (rest * 10 + Number(digit)) % 97, 0) === 1 ? HIDDEN : found
}

/** Of letters, digits and dots, which a token ends with or not: whatever follows its first part belongs to it. */
function hideWebToken(run: string): string {
  const at = run.slice(0, run.lastIndexOf('.') + 1).search(/\beyJ[\w-]{8,}\./)
  return at === -1 ? run : run.slice(0, at) + HIDDEN
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
