/** What is wrong where nothing is called an error: one table, each row with the lines that may tell of it and what they tell. */
import { at, certainty, lines, occurrences, sentences, since } from './describe-finding.ts'
import { placeOfWords, type Place } from './find-place.ts'
import { median, numberSlots, rising } from './line-numbers.ts'
import { routeIn } from './named-things.ts'
import { HOUR_MS, isFixed, meanIntervalMs, timeOf, type Finding, type Picture } from './picture.ts'
import type { Deployment, LogGroup, LogLine } from './reader.ts'
import { placeOfValue } from './value-origin.ts'

type Telling = {
  /** In our own words; the place is said behind it. */
  readonly summary: string
  readonly cited: readonly LogLine[]
  readonly since: number
  /** What stands in the source, if not the template. */
  readonly words?: string
}

type Symptom = {
  readonly kind: Finding['kind']
  readonly weight: number
  /** Kinds of lines that are looked at, the most telling first. */
  readonly most: number
  readonly mayTell: (picture: Picture, group: LogGroup) => boolean
  /** `inOrder`: oldest first. */
  readonly tell: (picture: Picture, group: LogGroup, inOrder: readonly LogLine[]) => Telling | null
  /** Certain wherever it comes from. */
  readonly isPlaceless?: true
  readonly origin?: (picture: Picture, group: LogGroup, writes: Place) => Promise<Place | null>
}

export async function findSymptom(picture: Picture, symptom: Symptom): Promise<Finding[]> {
  const { reader } = picture
  const findings: Finding[] = []
  const candidates = picture.groups
    .filter((group) => symptom.mayTell(picture, group))
    .toSorted((a, b) => b.count - a.count)
  for (const group of reader.first(candidates, symptom.most)) {
    if (!reader.mayCall(4)) break
    const told = symptom.tell(picture, group, (await reader.newestOf(group)).toReversed())
    if (!told) continue
    const writes = await placeOfWords(picture, told.words ?? group.template)
    if (!writes && !symptom.isPlaceless) {
      if (!isRemoved(picture, group)) reader.miss()
      continue
    }
    const origin = writes && symptom.origin ? await symptom.origin(picture, group, writes) : null
    const place = origin ?? writes
    findings.push({
      kind: symptom.kind,
      place,
      weight: symptom.weight + Math.min(10, Math.log2(group.count)),
      since: told.since,
      evidence: [
        ...told.cited.map(({ ref }) => ref),
        ...(place ? [place.ref] : []),
        ...(origin ? [writes!.ref] : []),
      ],
      summary: sentences(
        `${told.summary}${writes ? `, written${at(writes)}` : ''}.`,
        origin ? `The value seems to be computed${at(origin)}.` : writes ? certainty(writes) : '',
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

const NEVER_MEANT = /\bNaN\b|\[object Object\]|\bInvalid Date\b|\bInfinity\b/

/** Nothing fails, and all is wrong. */
export const ODD_VALUES: Symptom = {
  kind: 'error',
  weight: 35,
  most: 8,
  mayTell: (picture, group) => NEVER_MEANT.test(group.template) && !isFixed(picture, group),
  tell: (_, group, inOrder) => ({
    summary: `${NEVER_MEANT.exec(group.template)![0]} where a value belongs: ${occurrences(group)}`,
    cited: inOrder.slice(-1),
    since: timeOf(group.first_at),
  }),
  origin: (picture, { template }, writes) =>
    placeOfValue(picture, writes, template.slice(0, NEVER_MEANT.exec(template)!.index)),
}

const ACCESS =
  /\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)\b.*<n>|\bstatus(?:_code|Code)?[=:]\s?<n>|\b(?:request|response|access|http|handled|served|route)\w*\b.*<text>:\s?<n>/i
const STATUS =
  /\bstatus(?:_code|Code)?["']?[=:]\s?(\d{3})\b|\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \S{1,500}(?: HTTP\/[\d.]{1,3})?"? (?:-> |=> |→ )?(\d{3})\b|\b(\d{3})\]? (?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) /
const ANSWERS_MAX = 100

/** In an access log every answer has the same level. */
const SERVER_ERRORS: Symptom = {
  kind: 'error',
  weight: 25,
  most: 10,
  mayTell: (picture, group) => ACCESS.test(group.template) && !isFixed(picture, group),
  tell(_picture, _group, inOrder) {
    const seen = inOrder.slice(-ANSWERS_MAX)
    const failed = seen.filter(({ text }) => statusOf(text) >= 500 && statusOf(text) <= 599)
    const newest = failed.at(-1)
    if (!newest || failed.length < 3 || failed.length < 0.1 * seen.length) return null
    const route = routeIn(newest.text)
    return {
      summary: `Requests are answered with ${statusOf(newest.text)}: ${failed.length} of the last ${lines(seen.length)}`,
      cited: [newest],
      since: timeOf(failed[0]!.at),
      ...(route !== null && { words: route }),
    }
  },
  isPlaceless: true,
}

const statusOf = (text: string): number => {
  const [, named, after, before] = STATUS.exec(text.slice(0, 1_000)) ?? []
  return Number(named ?? after ?? before ?? 0)
}

/** How much there is of something that should not grow for ever. A number behind a single one (`job 17 queued`) is its name. */
const RESOURCE = new RegExp(
  [
    /\b(?:heap|rss|mem(?:ory)?|backlog|pending|lag|depth|in.?flight)(?: usage| used| size)?\W{0,3}(?:is |at |now |of )?<n>/,
    /\b(?:handles|descriptors|fds|connections|sockets|listeners|goroutines|threads|entries)\W{0,3}(?:is |at |now )?<n>/,
    /\bqueue(?: depth| size| length|[:=])\W{0,3}<n>/,
    /<n> ?(?:[KMG]i?B )?(?:open |active |idle |busy )?(?:handles|descriptors|connections|sockets|listeners|goroutines|threads|entries)\b/,
    /<n> (?:messages?|jobs?|items?|tasks?|requests?|events?) (?:pending|waiting|behind|in (?:the )?queue|queued)\b/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
)
const DURATION =
  /<n> ?(?:ms|s|sec|seconds|milliseconds)\b|\b(?:took|duration|latency|elapsed|response.time)\S* ?<n>/i
const SAMPLES_MIN = 8

/** What keeps growing, and what became slow. */
const NUMBERS: Symptom = {
  kind: 'performance',
  weight: 25,
  most: 8,
  mayTell: (picture, group) =>
    group.count >= SAMPLES_MIN &&
    picture.now - timeOf(group.last_at) < 24 * HOUR_MS &&
    (RESOURCE.test(group.template) ||
      (DURATION.test(group.template) &&
        timeOf(lastOf(picture)?.ended_at ?? group.first_at) > timeOf(group.first_at))),
  tell(picture, group, inOrder) {
    const trend = trendOf(picture, group, inOrder)
    return trend === null
      ? null
      : {
          summary: `${trend}, by ${lines(group.count)} ${since(group.first_at)}`,
          cited: [inOrder[0]!, inOrder.at(-1)!],
          since: timeOf(group.first_at),
        }
  },
}

const lastOf = ({ deployments }: Picture): Deployment | undefined =>
  deployments.find(({ state, ended_at }) => state === 'succeeded' && ended_at !== null)

function trendOf(picture: Picture, { template }: LogGroup, inOrder: readonly LogLine[]): string | null {
  const texts = inOrder.map(({ text }) => text)
  for (const { context, values } of numberSlots(template, texts)) {
    if (RESOURCE.test(context) && isGrowing(values))
      return `A number keeps growing, from ${values[0]} to ${values.at(-1)}`
    const deployment = lastOf(picture)
    if (!deployment || !DURATION.test(context) || values.length !== inOrder.length) continue
    const isAfter = (index: number): boolean => inOrder[index]!.at >= deployment.ended_at!
    const before = values.filter((_, index) => !isAfter(index))
    const after = values.filter((_, index) => isAfter(index))
    const [was, is] = [median(before), median(after)]
    const unit = /<n> ?(ms|milliseconds|s|sec|seconds)\b/i.exec(context)?.[1]?.[0]?.toLowerCase()
    const named = { m: ' ms', s: ' s' }[unit ?? ''] ?? ''
    if (before.length >= 5 && after.length >= 5 && is >= 4 * was && is - was >= 100)
      return `What took about ${was}${named} has taken about ${is}${named} since deployment ${deployment.id}`
  }
  return null
}

/** Nearly every value above the one before, and twice as much at the end. */
function isGrowing(values: readonly number[]): boolean {
  if (values.length < SAMPLES_MIN) return false
  const quarter = Math.ceil(values.length / 4)
  const [first, last] = [median(values.slice(0, quarter)), median(values.slice(-quarter))]
  return rising(values) >= 0.9 && last >= 2 * first && last > first + 5
}

/** What a schedule starts; what people do may end any time. */
const SCHEDULED =
  /\b(?:sync\w*|jobs?|cron|heart-?beats?|poll\w*|tick|schedul\w*|backup\w*|refresh\w*|clean-?up|finish\w*|complet\w*|import\w*|export\w*|batch\w*|reports?|digest|snapshot\w*|rotat\w*|flush\w*|publish\w*|process\w*|run)\b/i
const COUNT_MIN = 10
/** A line is missing that did not come for so many times as long as between two of them. */
const MISSED_MIN = 12
/** The mean over all days may be so much longer than lately: else there are nights, or weekends, in which nothing is logged. */
const PAUSES_MAX = 1.5

const newestIn = ({ groups }: Picture): number => Math.max(...groups.map(({ last_at }) => timeOf(last_at)))
const isMissing = (group: LogGroup, now: number): boolean =>
  group.count >= COUNT_MIN &&
  now - timeOf(group.last_at) >= Math.max(HOUR_MS, MISSED_MIN * meanIntervalMs(group))

const everyText = (ms: number): string => {
  const count = Math.max(1, Math.round(ms / 60_000))
  return count === 1 ? 'every minute' : `every ${count} minutes`
}

/** As regular as a clock. */
function isRegular(group: LogGroup, inOrder: readonly LogLine[]): boolean {
  const times = inOrder.slice(-30).map(({ at: time }) => timeOf(time))
  const gaps = times.slice(1).map((time, index) => time - times[index]!)
  const mean = meanOf(gaps)
  const deviation = Math.sqrt(meanOf(gaps.map((gap) => (gap - mean) ** 2)))
  return (
    gaps.length >= COUNT_MIN - 1 &&
    mean > 0 &&
    deviation <= 0.3 * mean &&
    meanIntervalMs(group) <= PAUSES_MAX * mean
  )
}

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/** A line that came regularly, and comes no more although the source still writes it. */
const STOPPED_LINES: Symptom = {
  kind: 'availability',
  weight: 22,
  most: 8,
  mayTell: (picture, group) => SCHEDULED.test(group.template) && isMissing(group, newestIn(picture)),
  tell: (_picture, group, inOrder) =>
    isRegular(group, inOrder)
      ? {
          summary: `Something that was logged ${everyText(meanIntervalMs(group))} has not been logged ${since(group.last_at)}: ${lines(group.count)} before`,
          cited: inOrder.slice(-1),
          since: timeOf(group.last_at),
        }
      : null,
}

/** An app that logs nothing at all is dead, or nobody hears it. Looked for also beside errors. */
export const STOPPED_LOG: Symptom = {
  kind: 'availability',
  weight: 30,
  most: 8,
  mayTell: (picture, group) => isMissing(group, picture.now) && !isMissing(group, newestIn(picture)),
  tell: (picture, group, inOrder) =>
    isRegular(group, inOrder)
      ? {
          summary: `The app has logged nothing ${since(new Date(newestIn(picture)).toISOString())}. Before that, a line came ${everyText(meanIntervalMs(group))}`,
          cited: inOrder.slice(-1),
          since: newestIn(picture),
          words: '',
        }
      : null,
  isPlaceless: true,
}

/** What is looked for where no error explains it, the surest first. */
export const SYMPTOMS: readonly Symptom[] = [SERVER_ERRORS, NUMBERS, STOPPED_LINES]
