/** Requests that end with a server error, in the lines of an access log: there every answer has the same level. */
import { at, certainty, lines, sentences } from './describe-finding.ts'
import { placeOfWords, type Place } from './find-place.ts'
import { routeIn } from './named-things.ts'
import { isFixed, timeOf, type Finding, type Picture } from './picture.ts'
import type { LogGroup, LogLine } from './reader.ts'

const ACCESS = /\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\b|\bstatus(?:_code|Code)?[=:]\s?<n>/
/** Of a line with fields in JSON the template has neither their names nor the method. */
const FIELDS = /\b(?:request|response|access|http|handled|served|route)\w*\b.*<text>:\s?<n>/i
const STATUS =
  /\bstatus(?:_code|Code)?["']?[=:]\s?(\d{3})\b|\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \S{1,500}(?: HTTP\/[\d.]{1,3})?"? (?:-> |=> |→ )?(\d{3})\b|\b(\d{3})\]? (?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) /
/** The most frequent: an app may have a line for every route. */
const GROUPS_MAX = 10
const LINES_MAX = 100
const SHARE_MIN = 0.1
const COUNT_MIN = 3

export async function findServerErrors(picture: Picture): Promise<Finding[]> {
  const findings: Finding[] = []
  const rest: Answer[] = []
  for (const group of candidates(picture)) {
    if (!picture.reader.mayCall(3)) break
    const read = await picture.reader.newestOf(group)
    const seen = read.slice(0, LINES_MAX).map((line) => ({ ...line, status: statusOf(line.text) }))
    const [newest] = failedOf(seen)
    if (!newest || !isOften(seen)) rest.push(...seen)
    else findings.push(findingOf(seen, await placeOfWords(picture, routeIn(newest.text) ?? group.template)))
  }
  // A few for each route, of which none tells much alone.
  if (findings.length === 0 && isOften(rest)) findings.push(findingOf(rest, null))
  return findings
}

type Answer = LogLine & { readonly status: number }

const failedOf = (seen: readonly Answer[]): Answer[] =>
  seen.filter(({ status }) => status >= 500 && status <= 599)

function isOften(seen: readonly Answer[]): boolean {
  const failed = failedOf(seen).length
  return failed >= COUNT_MIN && failed >= SHARE_MIN * seen.length
}

/** Without a place too: that requests fail is certain wherever it comes from. */
function findingOf(seen: readonly Answer[], place: Place | null): Finding {
  const failed = failedOf(seen)
  const newest = failed[0]!
  return {
    kind: 'error',
    place,
    weight: 25,
    since: Math.min(...failed.map((line) => timeOf(line.at))),
    evidence: [newest.ref, ...(place ? [place.ref] : [])],
    summary: sentences(
      `Requests are answered with ${newest.status}${at(place)}: ${failed.length} of the last ${lines(seen.length)}.`,
      certainty(place),
    ),
  }
}

const candidates = (picture: Picture): LogGroup[] =>
  picture.reader.first(
    picture.groups
      .filter((group) => isAccess(group) && !isFixed(picture, group))
      .toSorted((a, b) => b.count - a.count),
    GROUPS_MAX,
  )

const isAccess = ({ template }: LogGroup): boolean =>
  (ACCESS.test(template) && template.includes('<n>')) || FIELDS.test(template)

const statusOf = (text: string): number => {
  const [, named, after, before] = STATUS.exec(text.slice(0, 1_000)) ?? []
  return Number(named ?? after ?? before ?? 0)
}
