/** A line that came as regularly as a clock, and comes no more although the source still writes it. */
import { at, lines, sentences, since } from './describe-finding.ts'
import { placeOfWords } from './find-place.ts'
import { HOUR_MS, meanIntervalMs, timeOf, type Finding, type Picture } from './picture.ts'
import type { LogGroup } from './reader.ts'
import { COUNT_MIN, everyText, isRegular, MISSED_MIN } from './regular-lines.ts'

/** What a schedule starts; what people do may end any time. */
export const SCHEDULED =
  /\b(?:sync\w*|jobs?|cron|heart-?beats?|poll\w*|tick|schedul\w*|backup\w*|refresh\w*|clean-?up|finish\w*|complet\w*|import\w*|export\w*|batch\w*|reports?|digest|snapshot\w*|rotat\w*|flush\w*|publish\w*|process\w*|run)\b/i

export async function findSilence(picture: Picture): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const group of candidates(picture)) {
    if (!picture.reader.mayCall(3)) break
    const read = await picture.reader.ask('read_logs', { group: group.id, limit: 30 })
    const seen = read?.lines ?? []
    if (!isRegular(seen)) continue
    const place = await placeOfWords(picture, group.template)
    if (!place) {
      if (!isRemoved(picture, group)) picture.reader.miss()
      continue
    }
    findings.push({
      kind: 'availability',
      place,
      weight: 22,
      since: timeOf(group.last_at),
      evidence: [seen[0]!.ref, place.ref],
      summary: sentences(
        `Something that was logged ${everyText(meanIntervalMs(group))} has not been logged ${since(group.last_at)}: ${lines(group.count)} before, written${at(place)}.`,
      ),
    })
  }
  return findings
}

/** The source that came with a deployment writes it no more. */
const isRemoved = (picture: Picture, group: LogGroup): boolean =>
  picture.files.length > 0 &&
  picture.deployments.some(({ state, ended_at }) => {
    const later = timeOf(ended_at ?? group.last_at) - timeOf(group.last_at)
    return state === 'succeeded' && Math.abs(later) <= 2 * meanIntervalMs(group)
  })

function candidates({ groups }: Picture): LogGroup[] {
  const newest = Math.max(...groups.map(({ last_at }) => timeOf(last_at)))
  return groups
    .filter((group) => {
      const missing = newest - timeOf(group.last_at)
      return (
        SCHEDULED.test(group.template) &&
        group.count >= COUNT_MIN &&
        missing >= HOUR_MS &&
        missing >= MISSED_MIN * meanIntervalMs(group)
      )
    })
    .toSorted((a, b) => b.count - a.count)
}
