/** Values that no program means to write: NaN, [object Object], a negative count beside positive ones. Nothing fails, and all is wrong. */
import { at, certainty, occurrences, sentences } from './describe-finding.ts'
import { placeOfWords } from './find-place.ts'
import { isFixed, timeOf, type Finding, type Picture } from './picture.ts'
import type { LogGroup } from './reader.ts'
import { placeOfValue } from './value-origin.ts'

type Odd = { readonly group: LogGroup; readonly what: string; readonly before: string }

export async function findOddValues(picture: Picture): Promise<Finding[]> {
  const findings = new Map<string, Finding>()
  for (const { group, what, before } of oddGroups(picture)) {
    if (!picture.reader.mayCall(5)) break
    const writes = await placeOfWords(picture, group.template)
    if (!writes) {
      picture.reader.miss()
      continue
    }
    const [line] = (await picture.reader.ask('read_logs', { group: group.id, limit: 1 }))?.lines ?? []
    if (!line) continue
    const place = (await placeOfValue(picture, writes, before)) ?? writes
    const key = `${place.path}:${place.line}`
    // Several lines that write what one line computes.
    if (findings.has(key)) continue
    findings.set(key, {
      kind: 'error',
      place,
      weight: 35 + Math.min(20, Math.log2(group.count) * 3),
      since: timeOf(group.first_at),
      evidence: [line.ref, ...new Set([place.ref, writes.ref])],
      summary: sentences(
        `${what} where a value belongs: ${occurrences(group)}, written at ${writes.path}:${writes.line}.`,
        place === writes ? certainty(writes) : `The value seems to be computed${at(place)}.`,
      ),
    })
  }
  return [...findings.values()]
}

const NEVER_MEANT = /\bNaN\b|\[object Object\]|\bInvalid Date\b|\bInfinity\b/
/** Meant at times: odd where the same line otherwise has a value. */
const SOMETIMES_MEANT = /(?<![\w-])(?:undefined|None|nil|null|-<n>)(?![\w-])/
const COUNTED =
  /\b(?:stock|left|items?|count|quantity|total|price|amount|remaining|duration|took|age|seconds|ms|bytes|balance|tickets?|seats?|EUR|USD|GBP)\b|[$€£]/i

function oddGroups(picture: Picture): Odd[] {
  const templates = new Set(picture.groups.map(({ template }) => template))
  return picture.groups.flatMap((group) => {
    if (isFixed(picture, group)) return []
    const never = NEVER_MEANT.exec(group.template)
    if (never) return [{ group, what: never[0], before: group.template.slice(0, never.index) }]
    const sometimes = SOMETIMES_MEANT.exec(group.template)
    if (!sometimes) return []
    const before = group.template.slice(0, sometimes.index)
    const after = group.template.slice(sometimes.index + sometimes[0].length)
    const isCounted = sometimes[0] !== '-<n>' || COUNTED.test(before.slice(-30) + after.slice(0, 12))
    const hasSibling = ['<n>', '<text>', '<id>', '<uuid>'].some((mask) =>
      templates.has(before + mask + after),
    )
    const what = sometimes[0] === '-<n>' ? 'A negative number' : sometimes[0]
    return isCounted && hasSibling && group.count >= 2 ? [{ group, what, before }] : []
  })
}
