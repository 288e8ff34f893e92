/** Writes plain data as YAML that readers of YAML 1.1 and 1.2 understand alike. */

/** Deeper than this, JSON on one line (which is YAML too): an indent per level would make depth cost its square. */
const BLOCK_LEVELS_MAX = 32

/** YAML 1.2, 8.2.2: a key before `: ` has at most 1,024 characters; a longer one is announced by `? `. */
const SHORT_KEY_MAX = 1_000

/** Takes what `JSON.stringify` takes and leaves out what it leaves out. Text is never folded over lines. */
export function writeYaml(value: unknown): string {
  const parts: string[] = []
  writeNode(parts, jsonValue(value, ''), 0, 0)
  return `${parts.join('')}\n`
}

/** Writes from the present column on and without a line end; further lines are indented by `indent`. */
function writeNode(parts: string[], value: unknown, indent: number, level: number): void {
  if (typeof value !== 'object' || value === null) parts.push(scalar(value))
  else if (level >= BLOCK_LEVELS_MAX) parts.push(escapeForYaml(JSON.stringify(value)))
  else if (Array.isArray(value)) writeSequence(parts, value, indent, level)
  else writeMapping(parts, value as Record<string, unknown>, indent, level)
}

function writeSequence(parts: string[], items: readonly unknown[], indent: number, level: number): void {
  if (items.length === 0) parts.push('[]')
  const newLine = lineBreak(indent)
  for (let index = 0; index < items.length; index++) {
    parts.push(index === 0 ? '- ' : `${newLine}- `)
    writeNode(parts, jsonValue(items[index], String(index)), indent + 2, level + 1)
  }
}

function writeMapping(
  parts: string[],
  object: Readonly<Record<string, unknown>>,
  indent: number,
  level: number,
): void {
  const newLine = lineBreak(indent)
  let isEmpty = true
  for (const key of Object.keys(object)) {
    const value = jsonValue(object[key], key)
    if (isLeftOut(value)) continue
    if (!isEmpty) parts.push(newLine)
    isEmpty = false
    const name = text(key)
    parts.push(name.length > SHORT_KEY_MAX ? `? ${name}${newLine}:` : `${name}:`)
    parts.push(startsOnItsOwnLine(value, level + 1) ? lineBreak(indent + 2) : ' ')
    writeNode(parts, value, indent + 2, level + 1)
  }
  if (isEmpty) parts.push('{}')
}

const LINE_BREAKS = Array.from({ length: BLOCK_LEVELS_MAX + 2 }, (_, level) => `\n${'  '.repeat(level)}`)
const lineBreak = (indent: number): string => LINE_BREAKS[indent / 2]!

function startsOnItsOwnLine(value: unknown, level: number): boolean {
  if (typeof value !== 'object' || value === null || level >= BLOCK_LEVELS_MAX) return false
  if (Array.isArray(value)) return value.length > 0
  const object = value as Record<string, unknown>
  return Object.keys(object).some((key) => !isLeftOut(jsonValue(object[key], key)))
}

const isLeftOut = (value: unknown): boolean =>
  value === undefined || typeof value === 'function' || typeof value === 'symbol'

/** ECMA-262, SerializeJSONProperty: an object may say itself what stands for it; dates do. */
function jsonValue(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || !('toJSON' in value)) return value
  return typeof value.toJSON === 'function' ? (value.toJSON(key) as unknown) : value
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return text(value)
  if (typeof value === 'number') return number(value)
  if (typeof value === 'boolean') return value ? 'true' : 'false'
  if (typeof value === 'bigint') throw new TypeError('A BigInt cannot be written, as in JSON')
  return 'null'
}

function number(value: number): string {
  if (!Number.isFinite(value)) return 'null'
  const digits = String(value)
  // YAML 1.1 reads 1e+21 as text: there a number with an exponent has a dot.
  return digits.includes('e') && !digits.includes('.') ? digits.replace('e', '.0e') : digits
}

/** What begins with a letter is no number, no date and no sign of YAML's; inside, these are no signs either. */
const HARMLESS = /^_?\p{L}[\p{L}0-9_ ./(),'+@:…-]*$/u
/** Words that some reader takes for a truth value, for nothing, or (`e5`) for a number. */
const MEANS_SOMETHING = /^(?:true|false|yes|no|on|off|y|n|null|nan|inf|e[-+]?\d+)$/i

const text = (value: string): string => (isPlain(value) ? value : escapeForYaml(JSON.stringify(value)))

function isPlain(value: string): boolean {
  const last = value.at(-1)
  if (last === undefined || last === ' ' || last === ':') return false
  return HARMLESS.test(value) && !value.includes(': ') && !MEANS_SOMETHING.test(value)
}

/** Characters that JSON leaves as they are, and that YAML 1.1 does not print (5.1) or takes for line ends (5.4). */
const UNPRINTED = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/
const ALL_UNPRINTED = new RegExp(UNPRINTED, 'g')

const escapeForYaml = (json: string): string =>
  UNPRINTED.test(json) ? json.replace(ALL_UNPRINTED, escape) : json

const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
