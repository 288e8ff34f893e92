/** Lines that differ only in numbers, ids and quoted parts are one group: their template is what they share. */

/** Longer lines are cut: what makes a group stands at the beginning. */
const TEMPLATE_MAX = 500
const BLANK = '<blank>'

/** What stands for something that differs. */
export const PLACEHOLDER = /<(?:n|id|text|uuid|time|email|address|hex)>/

/** Of the first line: the rest is a stack trace, which moves with every release. One pass, because every line is read so. */
export function templateOf(text: string): string {
  const start = text.search(/\S/)
  // Blank: never stored, and a template all the same.
  if (start === -1) return BLANK
  const end = text.indexOf('\n', start)
  const line = text.slice(start, Math.min(end === -1 ? text.length : end, start + 2 * TEMPLATE_MAX)).trimEnd()
  let template = ''
  let copied = 0
  const put = (from: number, part: string, to: number): void => {
    template += line.slice(copied, from) + part
    copied = to
  }
  for (let at = 0; at < line.length;) {
    const kind = KINDS[line.charCodeAt(at)]
    if (kind === SPACE) {
      const from = at
      while (KINDS[line.charCodeAt(at)] === SPACE) at += 1
      if (at - from > 1 || line[from] !== ' ') put(from, ' ', at)
    } else if (kind === QUOTE) {
      const close = line.indexOf(line[at]!, at + 1)
      const isQuoted = close !== -1 && close - at <= QUOTED_MAX
      if (isQuoted) put(at, '<text>', close + 1)
      at = isQuoted ? close + 1 : at + 1
    } else {
      const from = at
      let varies = false
      for (; at < line.length; at++) {
        const inside = KINDS[line.charCodeAt(at)]
        if (inside === SPACE || inside === QUOTE) break
        varies ||= inside === VARYING
      }
      if (varies) put(from, wordTemplate(line.slice(from, at)), at)
    }
  }
  return (template + line.slice(copied)).slice(0, TEMPLATE_MAX)
}

/** Longer quotations are no values, but text that happens to stand between two quotes. */
const QUOTED_MAX = 201

const SPACE = 1
const QUOTE = 2
/** Only words with one of these can hold something that differs. */
const VARYING = 3
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/\s/.test(character)) return SPACE
  if (/["'`]/.test(character)) return QUOTE
  return /[\d@]/.test(character) ? VARYING : 0
})

/** A word without spaces and quotes. What is longer and more exact comes first. */
function wordTemplate(word: string): string {
  if (NUMBER.test(word)) return '<n>'
  let rest = word
  if (rest.length >= 36) rest = rest.replaceAll(UUID, '<uuid>')
  if (rest.length >= 19 && rest.includes(':')) rest = rest.replaceAll(TIME, '<time>')
  if (rest.includes('@')) rest = rest.replaceAll(EMAIL, '<email>')
  if (rest.length >= 7 && rest.includes('.')) rest = rest.replaceAll(ADDRESS, '<address>')
  if (rest.length >= 12) rest = rest.replaceAll(ID, '<id>')
  if (rest.includes('0x')) rest = rest.replaceAll(HEX, '<hex>')
  return rest.replaceAll(PART, '<n>')
}

const NUMBER = /^\d+(?:[.,]\d+)*$/
const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi
const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?/g
const EMAIL = /\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+\b/g
const ADDRESS = /\b(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?\b/g
/** Hashes and ids: letters and digits mixed. */
const ID = /\b(?=[a-z]*\d)(?=\d*[a-z])[0-9a-z]{12,}\b/gi
const HEX = /\b0x[0-9a-f]+\b/gi
const PART = /\b\d+(?:[.,]\d+)*(?=[a-z%]{0,2}\b|%)/gi
