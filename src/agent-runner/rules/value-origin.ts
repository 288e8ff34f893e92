/** Where a logged value is computed: from the statement that writes it to the assignment of the variable, and into the function that it calls. */
import { definition, placeIn, type Place } from './find-place.ts'
import type { Picture } from './picture.ts'
import { escapePattern, lineOf, type Window } from './reader.ts'
import { isProgram } from './source-files.ts'

/** `before`: the template up to the value. Null: it cannot be followed. */
export async function placeOfValue(
  { reader }: Picture,
  writes: Place,
  before: string,
): Promise<Place | null> {
  const window = await reader.around(writes.path, writes.line)
  const name = window && valueIn(window, writes.line, before)
  if (!name) return null
  const assigned = assignmentAbove(window, writes.line, name)
  const called = CALLED.exec(assigned === undefined ? `=${name}` : lineOf(window, assigned)!)?.[1]
  const [defined] =
    called === undefined
      ? []
      : (await reader.grep({ pattern: definition(called) })).filter(({ path }) => isProgram(path))
  const inside = defined && (await reader.around(defined.path, defined.line))
  if (inside) return placeIn(inside, defined.line, called!, 'words')
  return assigned === undefined ? null : placeIn(window, assigned, null, 'words')
}

/** What an assignment calls first. */
const CALLED = /[:=]\s*(?:await\s+)?(?:[\w$]+(?:\.|->|::))*([A-Za-z_$][\w$]{1,80})\s*\(/

/** The name that follows the last fixed words before the value, between braces or behind the end of the text. */
function valueIn(window: Window, line: number, before: string): string | null {
  const statement = window.lines.slice(line - window.start, line - window.start + 4).join('\n')
  const words = before.split(/<\w+>/).at(-1)!.trim().split(' ').at(-1)!
  const at = words === '' ? -1 : statement.indexOf(words)
  if (at === -1) return null
  const rest = statement.slice(at + words.length)
  return /^\s*(?:[$#]?\{|%\w["'`]?,|["'`]\s*[+,%.])\s*([A-Za-z_$][\w$.()]{0,100})/.exec(rest)?.[1] ?? null
}

function assignmentAbove(window: Window, line: number, expression: string): number | undefined {
  const name = /^[A-Za-z_$][\w$]*/.exec(expression)![0]
  const pattern = new RegExp(String.raw`(?<![\w$.])${escapePattern(name)}\s*(?::=|=(?!=)|:\s*[\w<>[\]]+\s*=)`)
  for (let above = line - 1; above >= window.start; above -= 1)
    if (pattern.test(lineOf(window, above) ?? '')) return above
  return undefined
}
