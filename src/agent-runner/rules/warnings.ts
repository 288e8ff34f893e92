/** Warnings of trouble that came with a deployment, and warnings that always mean a mistake. */
import { at, certainty, occurrences, sentences } from './describe-finding.ts'
import { placeOfNames, placeOfWords } from './find-place.ts'
import { namedThings } from './named-things.ts'
import { beganWith, isChange, isFixed, timeOf, type Finding, type Picture } from './picture.ts'
import type { LogGroup } from './reader.ts'

const TROUBLE =
  /\b(?:slow|time(?:d )?-?out|retry\w*|fail\w*|exhaust\w*|leak\w*|dropp?\w*|overflow\w*|exceed\w*|stale|duplicate\w*|mismatch\w*|unexpected\w*|inconsistent|fallback|falling back|could not|unable|cannot|missing|corrupt\w*|negative|stuck|skipp\w*|ignor\w*|lost|wrong)\b/i
const ALWAYS =
  /\bMaxListenersExceededWarning\b|\bpossible \S{1,40} (?:memory )?leak\b|\bUnhandledPromiseRejection\w*/i
const MIN_COUNT = 5

export async function findWarnings(picture: Picture): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const group of candidates(picture)) {
    if (!picture.reader.mayCall(4)) break
    const read = await picture.reader.ask('read_logs', { group: group.id, limit: 1 })
    const line = read?.lines[0]
    if (!line) continue
    const byWords = await placeOfWords(picture, group.template)
    const place = (await placeOfNames(picture, namedThings(line.text), byWords)) ?? byWords
    if (!place) {
      picture.reader.miss()
      continue
    }
    const deployment = beganWith(picture, group)
    findings.push({
      kind: 'error',
      place,
      weight: 20 + Math.min(10, Math.log2(group.count)),
      since: timeOf(group.first_at),
      evidence: [line.ref, place.ref, ...(deployment ? [deployment.ref] : [])],
      summary: sentences(
        `A warning${at(place)}: ${occurrences(group)}.`,
        certainty(place),
        deployment ? `It began with deployment ${deployment.id}.` : '',
      ),
    })
  }
  return findings
}

const candidates = (picture: Picture): LogGroup[] =>
  picture.groups.filter(
    (group) =>
      group.level === 'warn' &&
      !isFixed(picture, group) &&
      (ALWAYS.test(group.template) ||
        (group.count >= MIN_COUNT && TROUBLE.test(group.template) && isChange(picture, group))),
  )
