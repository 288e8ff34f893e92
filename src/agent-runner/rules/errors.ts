/** Errors in the log: which of them are worth somebody's time, and where they come from. */
import { LOG_LEVELS, type LogLevel } from '../../contracts/log-levels.ts'
import { at, certainty, occurrences, sentences } from './describe-finding.ts'
import { faultOf, isSevere, MIN_COUNT, withoutQuotations, type Fault } from './fault.ts'
import {
  placeUpTheStack,
  placeOfMatch,
  placeOfNames,
  placeOfTrace,
  placeOfWords,
  statementOf,
  type Place,
} from './find-place.ts'
import { logsOnlyData, wordsOf } from './log-statement.ts'
import { namedThings, routeIn } from './named-things.ts'
import {
  beganWith,
  HOUR_MS,
  isChange,
  isFixed,
  isTogether,
  meanIntervalMs,
  RECENT_MS,
  timeOf,
  type Finding,
  type Picture,
} from './picture.ts'
import type { LogGroup, LogLine, Match } from './reader.ts'
import { withoutConsequences, type Found } from './consequences.ts'
import { isHandled } from './handled.ts'
import { hasRecovered } from './recovery.ts'
import { filesFor, nameOf } from './source-files.ts'
import { exceptionName, isTraceLine, readStackTrace, splitLines, type StackTrace } from './stack-trace.ts'
import { originOfBounds } from './value-origin.ts'

/** Calls that one error may take, so that others get some. */
const CALLS_EACH = 7

export async function findErrors(picture: Picture): Promise<Finding[]> {
  const { reader } = picture
  const findings: Found[] = []
  for (const group of suspectsIn(picture)) {
    if (!reader.hasCalls(CALLS_EACH)) {
      if (!isMinor(group)) reader.miss()
      continue
    }
    const found = await examine(picture, group)
    if (found === 'unsure') reader.miss()
    else if (found) findings.push({ ...found, group })
  }
  return onePerPlace(await withoutConsequences(reader, findings))
}

/** By its first line nothing to report: only a stack trace below it could tell otherwise. */
function isMinor({ template, count, level }: LogGroup): boolean {
  const fault = faultOf(template)
  return fault === 'request' || (level !== 'fatal' && count < MIN_COUNT[fault])
}

/**
 * Most telling first; of lines that come together, one, as severe as the worst of them. Of lines without the level of an error
 * anybody can make more: few of them come before those that have it.
 */
function suspectsIn(picture: Picture): LogGroup[] {
  const ranked = picture.groups
    .filter((group) => isSuspect(picture, group))
    .map((group) => ({ ...group, level: worstLevel(picture, group) }))
    .map((group) => ({ group, weight: weightOf(picture, group, faultOf(group.template)) }))
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ group }) => group)
  const single = ranked.filter(
    (group, index) => !ranked.slice(0, index).some((better) => isTogether(group, better)),
  )
  const last = single.filter(({ level }) => !isSevere(level)).slice(DOUBTFUL_FIRST)
  return [...single.filter((group) => !last.includes(group)), ...last]
}

const DOUBTFUL_FIRST = 4

const worstLevel = ({ groups }: Picture, group: LogGroup): LogLevel =>
  groups
    .filter((other) => isTogether(group, other))
    .map(({ level }) => level)
    .reduce(
      (worst, level) => (LOG_LEVELS.indexOf(level) > LOG_LEVELS.indexOf(worst) ? level : worst),
      group.level,
    )

/** A part of a trace that was logged line by line: its head is looked at. */
const FRAGMENT = /^(?:at |File <|from |\^|#(?:\d|<n>)|goroutine |\.\.\. |Traceback \(most recent)/
const STOPPING = /\b(?:SIGTERM|SIGINT|shutting down|graceful(?:ly)?|deprecat\w+|ExperimentalWarning)\b/i
/** As the first line of an uncaught error begins, which no logger gives a level. */
const HEAD =
  /^(?:Uncaught |Unhandled |Caused by: |Exception in thread )?(?:<text> )?(?:[a-z][\w.]{0,100}\.)?(?:[A-Z][\w$]{0,80})?(?:Error|Exception)\b|^panic: |^thread <text> (?:\S+ )?panicked at|^PHP Fatal error|^fatal error: /

function isSuspect(picture: Picture, group: LogGroup): boolean {
  const { template, level, last_at } = group
  if (FRAGMENT.test(template) || picture.now - timeOf(last_at) > RECENT_MS) return false
  const fault = faultOf(template)
  if (!isSevere(level) && !HEAD.test(template) && fault !== 'code') return false
  if (fault !== 'code' && STOPPING.test(template)) return false
  return !isFixed(picture, group)
}

function weightOf(picture: Picture, group: LogGroup, fault: Fault): number {
  const byFault = { code: 40, unknown: 15, dependency: 10, request: 0 }[fault]
  const byLevel = { fatal: 30, error: 20, warn: 5, info: 0, debug: 0, trace: 0 }[group.level]
  const byDeployment = beganWith(picture, group) ? 15 : 0
  return byFault + byLevel + byDeployment + Math.min(20, Math.log2(group.count) * 3)
}

async function examine(picture: Picture, group: LogGroup): Promise<Omit<Found, 'group'> | 'unsure' | null> {
  const read = await picture.reader.ask('read_logs', { group: group.id, limit: SAMPLES })
  const statement = await statementOf(picture, group.template)
  // What it writes is what somebody sent: only its own words count.
  const isData = statement !== null && (await logsOnlyData(picture.reader, statement))
  const seen = await traceOf(picture, read?.lines ?? [], isData)
  if (!seen) return null
  const message = isData ? wordsOf(statement.text) : messageOf(seen.text)
  const fault = faultOf(
    [seen.trace?.exception ?? '', message, ...(isData ? [] : loggedErrors(seen.text))].join(' '),
  )
  if (!(await isWorthIt(picture, group, fault))) return null
  if (!isSevere(group.level) && (await isHandled(picture, seen.head, fault))) return null
  const place = await placeOf(picture, group, seen, { statement, message })
  // A line without the level of an error may hold what anybody sent: the source has to confirm it.
  if (!isSevere(group.level) && place?.by !== 'frame') return null
  // It names files of the app, and does not fit them: another revision, or a forgery.
  if (!place && hasOwnFrame(picture, seen.trace)) return 'unsure'
  if (!place && group.count < Math.max(3, MIN_COUNT[fault]) && group.level !== 'fatal') return null
  const deployment = beganWith(picture, group)
  const name = seen.trace?.exception ?? exceptionName(withoutQuotations(message)) ?? 'Error'
  const isTraced = place?.by === 'frame' || place?.by === 'moved'
  const origin = isTraced && OUT_OF_BOUNDS.test(message) ? await originOfBounds(picture, place) : null
  return {
    kind: kindOf(fault, message),
    place: origin ?? place,
    isTraced,
    weight: weightOf(picture, group, fault) + (place ? 10 : 0),
    since: timeOf(group.first_at),
    evidence: [
      seen.ref,
      ...(origin ? [origin.ref] : []),
      ...(place ? [place.ref] : []),
      ...(deployment ? [deployment.ref] : []),
    ],
    summary: sentences(
      `${name}${at(place)}: ${occurrences(group)}.`,
      certainty(place),
      origin ? `The index seems to be computed${at(origin)}.` : '',
      deployment ? `It began with deployment ${deployment.id}.` : '',
    ),
  }
}

const SAMPLES = 5

/** What lies outside of a list was computed somewhere; the line that fails only uses it. */
const OUT_OF_BOUNDS = /\bout of (?:range|bounds)\b|\bIndexError\b|\bIndexOutOf\w+|\bArgumentOutOfRange/i

/** `head`: the line that was logged with the trace, in the app's own words. */
type Seen = {
  readonly trace: StackTrace | null
  readonly text: string
  readonly ref: string
  readonly head: LogLine | null
}

/** A line with a trace into the app's own files; else what was logged around the newest one. */
async function traceOf(picture: Picture, read: readonly LogLine[], isData: boolean): Promise<Seen | null> {
  const [newest] = read
  if (!newest) return null
  const seen = read.map((line): Seen => ({
    trace: isData ? null : readStackTrace(line.text),
    text: line.text,
    ref: line.ref,
    head: line,
  }))
  await learnFiles(picture, seen[0]!.trace)
  const own = seen.find(({ trace }) => hasOwnFrame(picture, trace))
  if (own) return own
  const around = await linesAround(
    picture,
    isData ? { ...newest, text: newest.text.split('\n', 1)[0]! } : newest,
  )
  const trace = around === null ? null : readStackTrace(around.text)
  await learnFiles(picture, trace)
  if (hasOwnFrame(picture, trace)) return { trace, text: around!.text, ref: newest.ref, head: around!.head }
  return seen[0]!
}

/** Of an app with more files than were listed: those that a trace may mean. */
async function learnFiles({ reader, files, hasMoreFiles }: Picture, trace: StackTrace | null): Promise<void> {
  if (!hasMoreFiles || !trace) return
  const names = trace.frames.flatMap(({ path }) => nameOf(path) ?? [])
  for (const name of [...new Set(names)].slice(0, 2)) {
    const found = await reader.ask('list_files', { glob: `**/${name}` })
    for (const { path } of found?.files ?? []) if (!files.includes(path)) files.push(path)
  }
}

const hasOwnFrame = ({ files }: Picture, trace: StackTrace | null): boolean =>
  trace?.frames.some(({ path }) => filesFor(path, files).length > 0) ?? false

const AROUND_MS = 1_000

/** The trace of which this line is a part, where every line of it was logged by itself. */
async function linesAround(
  { reader }: Picture,
  line: LogLine,
): Promise<{ text: string; head: LogLine | null } | null> {
  const time = timeOf(line.at)
  const read = await reader.ask('read_logs', {
    from: new Date(time - AROUND_MS).toISOString(),
    to: new Date(time + AROUND_MS).toISOString(),
    limit: 100,
  })
  const inOrder = (read?.lines ?? []).toReversed()
  const own = inOrder.findIndex(({ ref }) => ref === line.ref)
  if (own === -1) return null
  const first = furthest(inOrder, own, -1)
  const last = furthest(inOrder, own, 1)
  // Python names the exception below its frames.
  const below = inOrder[last + 1]?.text
  const isNamedBelow =
    last > own && /^[\w.]{1,150}(?:Error|Exception|Warning|Exit|Interrupt)\b/.test(below ?? '')
  const text = inOrder
    .slice(first, last + (isNamedBelow ? 2 : 1))
    .filter(
      (one, index) => one.ref === line.ref || isTraceLine(one.text) || (isNamedBelow && first + index > last),
    )
    .map((one) => (one.ref === line.ref ? line.text : one.text))
    .join('\n')
  return { text, head: inOrder[first - 1] ?? null }
}

/** Lines of other requests that may stand between those of a trace. */
const GAP_MAX = 2

function furthest(inOrder: readonly LogLine[], own: number, step: -1 | 1): number {
  let end = own
  for (let index = own + step, gap = 0; gap <= GAP_MAX && inOrder[index] !== undefined; index += step) {
    if (isTraceLine(inOrder[index]!.text)) {
      end = index
      gap = 0
    } else gap += 1
  }
  return end
}

/** What it says, without the frames. */
const messageOf = (text: string): string =>
  splitLines(text)
    .filter((line, index) => index === 0 || !isTraceLine(line))
    .slice(0, 10)
    .join('\n')

const RETRIED = /\b(?:retry|retrying|attempt|trying again)\b/i

async function isWorthIt(picture: Picture, group: LogGroup, fault: Fault): Promise<boolean> {
  if (group.level === 'fatal') return true
  if (group.count < MIN_COUNT[fault]) return false
  // Refusals are what a healthy app answers to bad requests, unless something changed with them.
  if (fault === 'request') return isChange(picture, group)
  if (fault === 'dependency' && (isOver(picture, group) || isNowAndThen(picture, group))) return false
  const isRetried = RETRIED.test(group.template)
  if (isRetried && fault !== 'code' && (await isTriedAgain(picture, group))) return false
  const mayRecover = fault === 'dependency' || isRetried
  return !mayRecover || !(await hasRecovered(picture, group))
}

/** `attempt 1 of 3`, `attempt 2/5`: as long as the last one never failed, all went well in the end. */
async function isTriedAgain({ reader }: Picture, group: LogGroup): Promise<boolean> {
  const tries = (await reader.newestOf(group)).map(({ text }) =>
    /\battempt #?(\d{1,3}) ?(?:\/|of) ?(\d{1,3})\b/i.exec(text.slice(0, 500)),
  )
  return tries.length > 0 && tries.every((parts) => parts !== null && Number(parts[1]) < Number(parts[2]))
}

/** Something else that did not answer for a while answers again when nobody complains. */
const isOver = ({ now }: Picture, group: LogGroup): boolean =>
  now - timeOf(group.last_at) > Math.max(2 * HOUR_MS, 3 * meanIntervalMs(group))

/** A network fails now and then. What the app itself uses up does not come back by itself. */
const isNowAndThen = (picture: Picture, group: LogGroup): boolean =>
  meanIntervalMs(group) > HOUR_MS && !USED_UP.test(group.template) && !isChange(picture, group)

const USED_UP =
  /\b(?:EMFILE|ENOSPC)\b|\bno space left\b|\bdisk full\b|\btoo many\b|\bpool\b|\bacquir\w+|\bexhaust\w*|\bdeadlock\b|\block\b/i

async function placeOf(
  picture: Picture,
  group: LogGroup,
  { trace, text }: Seen,
  { statement, message }: { readonly statement: Match | null; readonly message: string },
): Promise<Place | null> {
  const byTrace = trace && (await placeOfTrace(picture, trace, message))
  if (!isSevere(group.level)) return byTrace
  if (byTrace) return (await placeUpTheStack(picture, trace, message, byTrace)) ?? byTrace
  if (hasOwnFrame(picture, trace)) return null
  const [inner] = loggedErrors(text)
  const byWords =
    (inner === undefined ? null : await placeOfWords(picture, inner)) ??
    (statement && placeOfMatch(statement, null, 'words'))
  const route = routeIn(text.slice(0, 1_000))
  const names = [...new Set([...namedThings(message), ...(route === null ? [] : [route])])]
  return (await placeOfNames(picture, names, byWords)) ?? byWords
}

/** Errors as fields of a line: `"err":"…"`, `error="…"`. */
const loggedErrors = (text: string): string[] =>
  [
    ...text
      .slice(0, 4_000)
      .matchAll(
        /(?:^|[\s{,"])(?:err|error|cause|reason|exception|detail)"?\s?[=:]\s?"((?:[^"\\]|\\.){6,300})"/g,
      ),
  ].map(([, said]) => said!)

const CONFIGURATION =
  /\b[A-Z][A-Z0-9]*_[A-Z0-9_]{2,80} (?:is |was )?(?:not set|missing|required|empty)|\bnot configured\b|\b[Mm]issing (?:env|setting|config)|\b[Cc]annot find module\b|\b[Nn]o module named\b/

/** By the message alone: what changes from night to night would make another finding of the same thing. */
const kindOf = (fault: Fault, message: string): Finding['kind'] => {
  if (CONFIGURATION.test(message)) return 'configuration'
  return fault === 'dependency' ? 'availability' : 'error'
}

/** Several messages of one line are one finding. With the evidence of the best alone, so that it is the same every night. */
function onePerPlace(findings: readonly Finding[]): Finding[] {
  const byPlace = new Map<string, Finding>()
  for (const finding of findings.toSorted((a, b) => b.weight - a.weight)) {
    const key = finding.place ? `${finding.place.path}:${finding.place.line}` : finding.summary
    if (!byPlace.has(key)) byPlace.set(key, finding)
  }
  return [...byPlace.values()]
}
