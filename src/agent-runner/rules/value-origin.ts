/**
 * Where a logged value is computed: from the statement that writes it to the assignment of the variable, and from there into the
 * function that it calls. Two steps by text, in the languages that put values between braces.
 */
import { definition, placeIn, type Place } from './find-place.ts'
import { isProgram } from './source-files.ts'
import { escapePattern, lineOf, type Reader, type Window } from './reader.ts'
import type { Picture } from './picture.ts'

/** `before`: the template up to the value. Null: it cannot be followed. */
export async function placeOfValue(
  { reader }: Picture,
  writes: Place,
  before: string,
): Promise<Place | null> {
  const window = await reader.around(writes.path, writes.line)
  if (!window) return null
  const name = valueIn(statementAt(window, writes.line), before)
  if (name === null) return null
  const assigned = assignmentAbove(window, writes.line, name)
  const expression = assigned === undefined ? name : lineOf(window, assigned)!
  const called = [...expression.matchAll(CALL)]
    .map(([, callee]) => callee!)
    .filter((callee) => !BUILT_IN.test(callee))
  for (const callee of called.slice(0, 2)) {
    const inside = await computedIn(reader, callee)
    if (inside) return inside
  }
  return assigned === undefined ? null : placeIn(window, assigned, null, 'words')
}

/** A call may span lines. */
const statementAt = (window: Window, line: number): string =>
  window.lines.slice(line - window.start, line - window.start + 4).join('\n')

/** The expression that follows the fixed text before the value. */
function valueIn(statement: string, before: string): string | null {
  for (const words of endings(before.split(/<\w+>/).at(-1)!)) {
    const at = statement.indexOf(words)
    const expression = at === -1 ? null : expressionAfter(statement.slice(at + words.length))
    if (expression !== null) return expression
  }
  return null
}

/** Longest first: some of the words before it may be values, too. */
const endings = (text: string): string[] => {
  const words = text.match(/\S+\s*/g) ?? []
  return words.map((_, index) => words.slice(index).join(''))
}

function expressionAfter(rest: string): string | null {
  const [, braced] = /^\s*[$#]?\{([^{}]{1,100})/.exec(rest) ?? []
  const [, added] = /^\s*["'`]\s*(?:\+|,|%|\.)\s*([\w$.()[\]]{1,100})/.exec(rest) ?? []
  const expression = braced ?? added
  return (
    expression
      ?.replace(/[:!][^:]*$/, '')
      .replace(/\.toFixed\(.*$/, '')
      .trim() ?? null
  )
}

/** Of an index that lies outside: the line that computes it, where that is in another function of the app. */
export async function originOfBounds({ reader }: Picture, fails: Place): Promise<Place | null> {
  const window = await reader.around(fails.path, fails.line)
  const text = withoutStrings((window && lineOf(window, fails.line)) ?? '')
  const indexes = [...text.matchAll(INDEXED)].map(([, inside]) => inside!).join(' ')
  for (const name of namesIn(indexes).slice(0, 3)) {
    const assigned = assignmentAbove(window!, fails.line, name)
    if (assigned === undefined || !isSameBlock(window!, assigned, fails.line)) continue
    const called = CALLED.exec(lineOf(window!, assigned)!)?.[1]
    const inside =
      called === undefined || BUILT_IN.test(called)
        ? null
        : await computedIn(reader, called, 'only arithmetic')
    if (inside) return inside
  }
  return null
}

/** What an assignment calls first. */
const CALLED = /[:=]\s*(?:await\s+)?(?:[\w$]+(?:\.|->|::))*([A-Za-z_$][\w$]{1,80})\s*\(/

/** `list[from:to]`, `text.substring(from, to)`. */
const INDEXED = /(?:\[|\.(?:sub[sS]tr(?:ing)?|subList|slice|charAt|get|elementAt|nth)\()([^[\]()]{1,80})/g

const namesIn = (expression: string): string[] => [
  ...new Set(expression.match(/(?<![\w$.])[A-Za-z_$][\w$]{0,80}(?![\w$(])/g)),
]

/** Nothing between the two lines stands further left than the first: it is the same function. */
const isSameBlock = (window: Window, first: number, last: number): boolean =>
  window.lines
    .slice(first - window.start, last - window.start + 1)
    .filter((line) => line.trim() !== '')
    .every((line, _, [own]) => line.search(/\S/) >= own!.search(/\S/))

const CALL = /\b([A-Za-z_$][\w$]{1,80})\s*\(/g
const BUILT_IN =
  /^(?:if|for|while|return|await|Number|String|Math|round|floor|ceil|parseInt|parseFloat|int|float|str|len|format|toFixed|map|reduce|filter|JSON|print|println|log|info|sum|max|min|abs)$/

function assignmentAbove(window: Window, line: number, expression: string): number | undefined {
  const name = /^[A-Za-z_$][\w$]*/.exec(expression)?.[0]
  if (name === undefined) return undefined
  const pattern = new RegExp(String.raw`(?<![\w$.])${escapePattern(name)}\s*(?::=|=(?!=)|:\s*[\w<>[\]]+\s*=)`)
  for (let above = line - 1; above >= window.start; above -= 1) {
    if (pattern.test(lineOf(window, above) ?? '')) return above
  }
  return undefined
}

const ARITHMETIC =
  /[\w)\]]\s*(?:[*/%]|(?<![+-])[+-](?![+-]))\s*[\w($]|\bNumber\(|\bparse(?:Int|Float)\(|\b(?:int|float)\(|\+=|-=/

/** The first line of a function that computes something; else its own. */
async function computedIn(
  reader: Reader,
  name: string,
  wanted: 'only arithmetic' | 'any' = 'any',
): Promise<Place | null> {
  if (!reader.mayCall(2)) return null
  const [defined] = (await reader.grep({ pattern: definition(name) })).filter(({ path }) => isProgram(path))
  if (!defined) return null
  const window = await reader.around(defined.path, defined.line)
  if (!window) return null
  const last = Math.min(window.start + window.lines.length - 1, defined.line + 15)
  for (let line = defined.line; line <= last; line += 1) {
    const text = lineOf(window, line) ?? ''
    if (line > defined.line && /^\S/.test(text) && !/^[)}\]]/.test(text)) break
    if (ARITHMETIC.test(withoutStrings(text))) return placeIn(window, line, name, 'words')
  }
  return wanted === 'any' ? placeIn(window, defined.line, name, 'words') : null
}

const withoutStrings = (text: string): string =>
  text.replaceAll(/(["'`])(?:(?!\1)[^\\]|\\.){0,300}\1/g, '""').replace(/\/\/.*$|#.*$/, '')
