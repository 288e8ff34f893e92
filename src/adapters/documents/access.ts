/**
 * Who sees a document: the field `access` of its front matter, or of `access.yaml`. As YAML is written for one value or a
 * list of them, and nothing else of YAML: what is said and cannot be read hides the document, and is told.
 */
import { DOCUMENT_ACCESS_MAX } from '../../contracts/limits.ts'
import { UnreadableFile } from './blocks.ts'

/** However it is written: one that is not meant as the field is told, and not taken for nothing. */
const FIELD = /^[ \t]*["']?access["']?[ \t]*:/i
const VALUE_MAX_CHARACTERS = 300

/** Undefined: it says nothing. None: nobody sees it. */
export function accessIn(yaml: string): readonly string[] | undefined {
  const lines = yaml.split('\n')
  const fields = lines.flatMap((line, at) => (FIELD.test(line) ? [at] : []))
  if (isWrittenOtherwise(lines)) throw unreadableAccess()
  if (fields.length === 0) return undefined
  const [at] = fields
  const found = /^access:(?:[ \t]+(.*))?$/.exec(lines[at!]!)
  if (fields.length > 1 || !found) throw unreadableAccess()
  const values = valuesOf(withoutComment(found[1] ?? ''), lines.slice(at! + 1))
  if (values.length > DOCUMENT_ACCESS_MAX || values.some((value) => value.length > VALUE_MAX_CHARACTERS)) {
    throw unreadableAccess()
  }
  // Addresses are compared in lower case everywhere.
  return values.map((value) => (value.startsWith('user:') ? value.toLowerCase() : value))
}

const IN_BRACES = /[{,][ \t]*["']?access["']?[ \t]*:/i

const MARKED = /^[ \t]*(?:\?|[&!]\S*)[ \t]+["']?access["']?[ \t]*(?::|$)/i

/** In braces, or behind a question mark, a tag or an anchor: YAML has more ways to write a field than one. */
function isWrittenOtherwise(lines: readonly string[]): boolean {
  const isAllInBraces = lines
    .find((line) => /^[ \t]*[^ \t#]/.test(line))
    ?.trimStart()
    .startsWith('{')
  return lines.some((line) => {
    const brace = line.indexOf('{')
    const inBraces = isAllInBraces ? line : brace === -1 ? '' : line.slice(brace)
    return IN_BRACES.test(inBraces) || MARKED.test(line)
  })
}

export const unreadableAccess = () =>
  new UnreadableFile('Its access cannot be read, so nobody sees it. Write it as access: [group:board].')

function valuesOf(first: string, following: readonly string[]): string[] {
  if (first.startsWith('[')) return listIn([first, ...following].join('\n'))
  if (first !== '') return [scalarIn(first)]
  const values: string[] = []
  for (const line of following) {
    const item = /^[ \t]*-[ \t]+(.*)$/.exec(line)
    if (item) values.push(scalarIn(withoutComment(item[1]!)))
    else if (!/^[ \t]*(#.*)?$/.test(line)) break
  }
  // `access:` with nothing behind it may be meant in any way.
  if (values.length === 0) throw unreadableAccess()
  return values
}

/** `[a, "b"]`, also over several lines. */
function listIn(text: string): string[] {
  const whole = /^\[((?:"[^"\n]*"|'[^'\n]*'|[^\][{}"'])*)\][ \t]*(?:#.*)?(?:\n|$)/.exec(text)
  if (!whole) throw unreadableAccess()
  const inside = whole[1]!.trim().replace(/,$/, '')
  if (inside === '') return []
  return (inside.match(/(?:"[^"]*"|'[^']*'|[^,"'])+|(?<=,)(?=,)/g) ?? []).map((one) => scalarIn(one.trim()))
}

/** Plain, or in quotes without another one inside. */
function scalarIn(text: string): string {
  const value = /^(?:"([^"\\]*)"|'([^']*)'|([^"'[\]{}&*!|>%@`#,?-][^"'[\]{}]*))$/.exec(text.trim())
  const read = value && (value[1] ?? value[2] ?? value[3])!.trim()
  if (read === null || read === '' || /:[ \t]|[ \t]#|\n/.test(read)) throw unreadableAccess()
  return read
}

const withoutComment = (text: string): string => text.replace(/(^|[ \t])#.*$/, '').trim()
