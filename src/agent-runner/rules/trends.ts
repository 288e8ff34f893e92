/** What keeps growing, and what became slow: the numbers in log lines over time. */
import { at, certainty, lines, sentences, since } from './describe-finding.ts'
import { placeOfWords } from './find-place.ts'
import { median, numberSlots, rising } from './line-numbers.ts'
import { HOUR_MS, timeOf, type Finding, type Picture } from './picture.ts'
import type { Deployment, LogGroup, LogLine } from './reader.ts'

/** How much there is of something that should not grow for ever. A number behind a single one (`job 17 queued`) is its name. */
const RESOURCE = new RegExp(
  [
    /\b(?:heap|rss|mem(?:ory)?|backlog|pending|lag|depth|in.?flight|attempts?|retries)(?: usage| used| size)?\W{0,3}(?:is |at |now |of )?<n>/,
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
/** How much was done. */
const YIELD =
  /<n> (?:rows?|items?|records?|products?|orders?|messages?|users?|results?|files?|events?|mails?|emails?|entries)\b|\b(?:imported|processed|synced|sent|updated|exported|found|loaded|indexed)\W{0,3}<n>/i
/** The most telling: nearly every line has a number. */
const GROUPS_MAX = 8
const SAMPLES_MIN = 8

export async function findTrends(picture: Picture): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const group of candidates(picture)) {
    if (!picture.reader.mayCall(3)) break
    const inOrder = (await picture.reader.newestOf(group)).toReversed()
    const trend = trendOf(picture, group, inOrder)
    if (trend === null) continue
    const place = await placeOfWords(picture, group.template)
    if (!place) {
      picture.reader.miss()
      continue
    }
    findings.push({
      kind: 'performance',
      place,
      weight: 25,
      since: timeOf(group.first_at),
      evidence: [inOrder.at(-1)!.ref, inOrder[0]!.ref, place.ref],
      summary: sentences(
        `${trend}, by ${lines(group.count)} ${since(group.first_at)}, written${at(place)}.`,
        certainty(place),
      ),
    })
  }
  return findings
}

const candidates = (picture: Picture): LogGroup[] =>
  picture.reader.first(
    picture.groups
      .filter(
        (group) =>
          group.count >= SAMPLES_MIN &&
          picture.now - timeOf(group.last_at) < 24 * HOUR_MS &&
          mayHaveTrend(picture, group),
      )
      .toSorted(
        (a, b) => Number(RESOURCE.test(b.template)) - Number(RESOURCE.test(a.template)) || b.count - a.count,
      ),
    GROUPS_MAX,
  )

/** How long something takes is compared with what it took before the last deployment. */
const mayHaveTrend = ({ deployments }: Picture, { template, first_at }: LogGroup): boolean =>
  RESOURCE.test(template) ||
  YIELD.test(template) ||
  (DURATION.test(template) && timeOf(lastOf(deployments)?.ended_at ?? first_at) > timeOf(first_at))

const lastOf = (deployments: Picture['deployments']): Deployment | undefined =>
  deployments.find(({ state, ended_at }) => state === 'succeeded' && ended_at !== null)

function trendOf(picture: Picture, { template }: LogGroup, inOrder: readonly LogLine[]): string | null {
  const slots = numberSlots(
    template,
    inOrder.map(({ text }) => text),
  )
  for (const { context, values } of slots) {
    if (RESOURCE.test(context) && isGrowing(values)) {
      return `A number keeps growing, from ${values[0]} to ${values.at(-1)}`
    }
    if (YIELD.test(context) && isSpent(values)) {
      return `A number has become 0 that used to be ${median(values.filter((value) => value > 0))}`
    }
    if (DURATION.test(context) && values.length === inOrder.length) {
      const step = slowerSince(picture, inOrder, values, unitIn(context))
      if (step) return step
    }
  }
  return null
}

/** Nothing any more, several times in a row, after there was nearly always something. */
function isSpent(values: readonly number[]): boolean {
  const zeros = values.length - 1 - values.findLastIndex((value) => value !== 0)
  const before = values.slice(0, values.length - zeros)
  return (
    zeros >= 3 && before.length >= 5 && before.filter((value) => value === 0).length <= 0.1 * before.length
  )
}

/** Nearly every value above the one before, and twice as much at the end. */
function isGrowing(values: readonly number[]): boolean {
  if (values.length < SAMPLES_MIN) return false
  const quarter = Math.ceil(values.length / 4)
  const [first, last] = [median(values.slice(0, quarter)), median(values.slice(-quarter))]
  return rising(values) >= 0.9 && last >= 2 * first && last > first + 5
}

/** Four times as long as before the last deployment, and noticeably so. */
function slowerSince(
  { deployments }: Picture,
  inOrder: readonly LogLine[],
  values: readonly number[],
  unit: string,
): string | null {
  const deployment = lastOf(deployments)
  if (!deployment) return null
  const deployed = timeOf(deployment.ended_at!)
  const before = values.filter((_, index) => timeOf(inOrder[index]!.at) < deployed)
  const after = values.filter((_, index) => timeOf(inOrder[index]!.at) >= deployed)
  if (before.length < 5 || after.length < 5) return null
  const [was, is] = [median(before), median(after)]
  return is >= 4 * was && is - was >= 100
    ? `What took about ${was}${unit} has taken about ${is}${unit} since deployment ${deployment.id}`
    : null
}

/** In our own words; where the line names none, neither do we. */
function unitIn(context: string): string {
  const [, unit] = /<n> ?(ms|milliseconds|s|sec|seconds)\b/i.exec(context) ?? []
  if (unit === undefined) return ''
  return unit.toLowerCase().startsWith('m') ? ' ms' : ' s'
}
