/** An app that has stopped logging altogether: it is dead, or nobody hears it. Silence is not health. */
import { sentences, since } from './describe-finding.ts'
import {
  beganWithDeployment,
  HOUR_MS,
  meanIntervalMs,
  timeOf,
  type Finding,
  type Picture,
} from './picture.ts'
import type { LogGroup } from './reader.ts'
import { COUNT_MIN, everyText, isRegular, meanGapMs, MISSED_MIN } from './regular-lines.ts'
import { SCHEDULED } from './silence.ts'

/** The mean over all days may be so much longer than lately: else there are nights, or weekends, in which nothing is logged. */
const PAUSES_MAX = 1.5

export async function findStoppedLog(picture: Picture): Promise<Finding[]> {
  for (const group of candidates(picture)) {
    if (!picture.reader.mayCall(1)) break
    const read = await picture.reader.ask('read_logs', { group: group.id, limit: 30 })
    const seen = read?.lines ?? []
    if (!isRegular(seen) || meanIntervalMs(group) > PAUSES_MAX * meanGapMs(seen)) continue
    const stopped = newestOf(picture)
    const deployment = beganWithDeployment(picture, stopped)
    return [
      {
        kind: 'availability',
        place: null,
        weight: 30,
        since: stopped,
        evidence: [seen[0]!.ref, ...(deployment ? [deployment.ref] : [])],
        summary: sentences(
          `The app has logged nothing ${since(new Date(stopped).toISOString())}. Before that, a line came ${everyText(meanIntervalMs(group))}.`,
          deployment ? `It stopped after deployment ${deployment.id}.` : '',
        ),
      },
    ]
  }
  return []
}

const newestOf = ({ groups }: Picture): number => Math.max(...groups.map(({ last_at }) => timeOf(last_at)))

/** Each takes a call; where none of them is regular, people make the log, and may be asleep. */
const GROUPS_MAX = 8

/** What still came when the log stopped, and should have come many times since; what a schedule starts first. */
function candidates(picture: Picture): LogGroup[] {
  const newest = newestOf(picture)
  const quiet = picture.now - newest
  if (quiet < HOUR_MS) return []
  const missed = picture.groups.filter((group) => {
    const missing = MISSED_MIN * meanIntervalMs(group)
    return group.count >= COUNT_MIN && quiet >= missing && newest - timeOf(group.last_at) < missing
  })
  return picture.reader.first(
    missed.toSorted((a, b) => Number(isScheduled(b)) - Number(isScheduled(a)) || b.count - a.count),
    GROUPS_MAX,
  )
}

const isScheduled = ({ template }: LogGroup): boolean => SCHEDULED.test(template)
