/**
 * The one grouping: what the log tells of, by the type of an exception and its last frame in the app's own source, whatever
 * lines carry it; what has no such frame, by its words.
 */
import { LOG_LEVELS, type LogLevel } from '../../contracts/log-levels.ts'
import { statementOf } from './find-place.ts'
import { logsOnlyData, wordsOf } from './log-statement.ts'
import { isFixed, isMuch, isTogether, RECENT_MS, timeOf, type Picture } from './picture.ts'
import type { LogGroup, LogLine, Match } from './reader.ts'
import { filesFor, nameOf } from './source-files.ts'
import { isTraceLine, readStackTrace, splitLines, type StackTrace } from './stack-trace.ts'
import { faultOf, isSevere, isTriedAgain } from './what-counts.ts'

export type Matter = {
  /** Of all lines that tell of it: how often, from when to when, and how severe at worst. */
  readonly group: LogGroup
  /** The newest of them. */
  readonly line: LogLine
  /** What it says, without frames. */
  readonly message: string
  /** What the app itself said of it, where it logged the trace below a line of its own. */
  readonly said: string
  /** Null: none, or none that leads into the source of the app. */
  readonly trace: StackTrace | null
  /** The statement that writes it, where that was looked for and found. */
  readonly statement: Match | null
  /** All of the newest lines say that it is tried again. */
  readonly isRetried: boolean
  /** Of the newest lines. */
  readonly times: readonly number[]
}

/** Calls that one carrier may take, so that others get some, and what is found can be placed. */
const CALLS_EACH = 6

export async function readMatters(picture: Picture): Promise<Matter[]> {
  const { reader } = picture
  const matters = new Map<string, Matter>()
  const carried = new Set<string>()
  for (const group of carriersIn(picture)) {
    if (carried.has(group.id)) continue
    if (!reader.hasCalls(CALLS_EACH)) {
      // Refusals, by their first line: they are read, if not looked into.
      if (rankOf(picture, group) !== REFUSAL) reader.miss()
      continue
    }
    for (const { key, matter } of await tellingsOf(picture, group, carried)) {
      const known = matters.get(key)
      matters.set(key, known ? merged(known, matter) : matter)
    }
  }
  return [...matters.values()]
}

/** What a runtime or a shipper puts before a line: times, numbers, what stands in brackets. No words: those are the app's. */
const PREFIX = String.raw`^(?:(?:(?:<\w+>|[\dTZ:.,/+|-])+|\[[^\]]{0,60}\]) )*`
/** The first line of an uncaught error, which no logger gives a level. What an app writes in its own words at no level is data. */
const HEAD = new RegExp(
  `${PREFIX}(?:${[
    /(?:Uncaught |Unhandled |Caused by: |Exception in thread |Unhandled exception[.:] )?(?:<text> )?(?:[A-Za-z][\w.]{0,100}\.)?(?:[A-Z][\w$]{0,80})?(?:Error|Exception)\b/,
    /(?:http: |thread \S{1,80} (?:\(<n>\) )?)?panic(?:ked at|:| serving)/,
    /PHP (?:Fatal error|Warning)|fatal error: |\S{1,300}\.rb:<n>:in /,
  ]
    .map(({ source }) => source)
    .join('|')})`,
)
/** Says nothing but that a trace follows: every exception of an app has the same. */
const BARE = new RegExp(`${PREFIX}(?:Traceback \\(most recent call last\\):$|stack backtrace:|goroutine )`)
/** A part of a trace that was logged line by line: looked at only if nothing else led to it. */
const FRAGMENT = /^(?:at |File <|from |\^|#(?:\d|<n>)|\.\.\. )/

/** The most severe first. Of lines without a level anybody can make more: few of them come before those that have one. */
function carriersIn(picture: Picture): LogGroup[] {
  const ranked = picture.groups
    .filter((group) => picture.now - timeOf(group.last_at) <= RECENT_MS && !isFixed(picture, group))
    .flatMap((group) => {
      const rank = rankOf(picture, group)
      return rank === null ? [] : [{ group, rank }]
    })
    .toSorted((a, b) => a.rank - b.rank || b.group.count - a.group.count)
    .map(({ group }) => group)
  const unlevelled = ranked.filter(({ level }) => !isSevere(level))
  const last = new Set(unlevelled.slice(UNLEVELLED_FIRST))
  return [
    ...unlevelled.filter((group) => !last.has(group)),
    ...ranked.filter(({ level }) => isSevere(level)),
    ...last,
  ]
}

const UNLEVELLED_FIRST = 4
const REFUSAL = 3

function rankOf(picture: Picture, group: LogGroup): number | null {
  const { template, level } = group
  if (FRAGMENT.test(template)) return isSevere(level) ? 4 : 5
  if (isSevere(level)) return faultOf(template) === 'code' ? 0 : faultOf(template) === 'request' ? REFUSAL : 1
  if (HEAD.test(template) || BARE.test(template)) return 2
  const isTold = level === 'warn' && (faultOf(template) === 'code' || isMuch(picture, group))
  return isTold ? 2 : null
}

type Telling = { readonly key: string; readonly matter: Matter }

/** More than one only where the lines of a group hold different exceptions. */
async function tellingsOf(picture: Picture, group: LogGroup, carried: Set<string>): Promise<Telling[]> {
  const { reader } = picture
  const lines = (await reader.ask('read_logs', { group: group.id, limit: SAMPLES }))?.lines ?? []
  const [newest] = lines
  if (!newest) return []
  const isHead = HEAD.test(group.template) || BARE.test(group.template)
  const statement = isHead ? null : await statementOf(picture, group.template)
  const telling = (key: string, own: Partial<Matter> & Pick<Matter, 'message'>): Telling => ({
    key,
    matter: {
      group,
      line: newest,
      said: '',
      trace: null,
      statement,
      times: lines.map(({ at }) => timeOf(at)),
      isRetried: lines.every(({ text }) => isTriedAgain(text)),
      ...own,
    },
  })
  // What it writes is what somebody sent: only its own words count.
  if (statement && (await logsOnlyData(reader, statement)))
    return [telling(group.id, { message: wordsOf(statement.text) })]
  const byKey = Map.groupBy(await tracesIn(picture, lines), ({ key }) => key)
  if (byKey.size > 0)
    return [...byKey].map(([key, own]) => {
      const { line, trace } = own[0]!
      const counted = byKey.size === 1 ? group : { ...group, count: own.length }
      return telling(key, { group: counted, line, trace, message: messageOf(line.text) })
    })
  const block = await blockAround(picture, newest)
  for (const id of block?.groups ?? []) carried.add(id)
  const [own] = block ? await tracesIn(picture, [{ ...newest, text: block.text }]) : []
  if (own && block) {
    const { level, above, text } = block
    return [
      telling(own.key, {
        group: { ...group, level },
        said: above,
        trace: own.trace,
        message: messageOf(text),
      }),
    ]
  }
  // Frames of others' code, or what only looked like a frame.
  if (FRAGMENT.test(group.template) || BARE.test(group.template)) return []
  return [telling(group.id, { message: messageOf(newest.text) })]
}

const SAMPLES = 30

/** Those that lead into the app's own files. */
async function tracesIn(picture: Picture, lines: readonly LogLine[]) {
  const traces = lines.flatMap((line) => {
    const trace = readStackTrace(line.text)
    return trace ? [{ line, trace }] : []
  })
  await learnFiles(picture, traces[0]?.trace)
  return traces.flatMap(({ line, trace }) => {
    const frame = trace.frames.find(({ path }) => filesFor(path, picture.files).length > 0)
    return frame ? [{ line, trace, key: `${trace.exception ?? ''} ${nameOf(frame.path)}:${frame.line}` }] : []
  })
}

/** Of an app with more files than were listed: those that a trace may mean. */
async function learnFiles(
  { reader, files, hasMoreFiles }: Picture,
  trace: StackTrace | undefined,
): Promise<void> {
  if (!hasMoreFiles || !trace) return
  const names = trace.frames.flatMap(({ path }) => nameOf(path) ?? [])
  for (const name of [...new Set(names)].slice(0, 2)) {
    const found = await reader.ask('list_files', { glob: `**/${name}` })
    for (const { path } of found?.files ?? []) if (!files.includes(path)) files.push(path)
  }
}

type Block = {
  readonly text: string
  readonly level: LogLevel
  readonly above: string
  /** Whose lines it consists of. */
  readonly groups: readonly string[]
}

const AROUND_MS = 1_000

/** The trace of which this line is a part, where every line of it was logged by itself. */
async function blockAround(picture: Picture, line: LogLine): Promise<Block | null> {
  const { reader } = picture
  const time = timeOf(line.at)
  const read = await reader.ask('read_logs', {
    from: new Date(time - AROUND_MS).toISOString(),
    to: new Date(time + AROUND_MS).toISOString(),
    limit: 200,
  })
  const inOrder = (read?.lines ?? []).toReversed()
  const own = inOrder.findIndex(({ ref }) => ref === line.ref)
  if (own === -1) return null
  const first = furthest(inOrder, own, -1)
  const last = furthest(inOrder, own, 1)
  // Python names the exception below its frames.
  const end = /^[\w.]{1,150}(?::|$)/.test(inOrder[last + 1]?.text ?? '') && last > own ? last + 1 : last
  const block = inOrder.slice(first, end + 1).filter((one, index) => {
    return one.ref === line.ref || isTraceLine(one.text) || first + index > last
  })
  if (block.length === 1) return null
  const level = block.map((one) => one.level).reduce(worst)
  const above = await headAbove(picture, inOrder[first - 1], block[0]!, level)
  return {
    text: block.map(({ text }) => text).join('\n'),
    level: above ? worst(level, above.level) : level,
    above: above?.text.slice(0, 500) ?? '',
    groups: block.map(({ group }) => group),
  }
}

const ADJACENT_MS = 50

/** The line with which the app logged a trace that has no level of its own: a terminal gives one to the first line only. */
async function headAbove(
  picture: Picture,
  above: LogLine | undefined,
  first: LogLine,
  level: LogLevel,
): Promise<LogLine | null> {
  if (!above || isSevere(level) || timeOf(first.at) - timeOf(above.at) > ADJACENT_MS) return null
  if (above.level !== 'warn') return above
  // One that lowers it has to be the app's own.
  const words = above.text.split('\n', 1)[0]!.slice(0, 500).replaceAll(/\d+/g, '<n>')
  return (await statementOf(picture, words)) ? above : null
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

const messageOf = (text: string): string =>
  splitLines(text)
    .filter((line, index) => index === 0 || !isTraceLine(line))
    .slice(0, 10)
    .join('\n')

const worst = (a: LogLevel, b: LogLevel): LogLevel => (LOG_LEVELS.indexOf(b) > LOG_LEVELS.indexOf(a) ? b : a)

/** Lines that come together count once. */
function merged(a: Matter, b: Matter): Matter {
  const [newer, older] = timeOf(a.group.last_at) >= timeOf(b.group.last_at) ? [a, b] : [b, a]
  const count = isTogether(a.group, b.group)
    ? Math.max(a.group.count, b.group.count)
    : a.group.count + b.group.count
  return {
    ...newer,
    times: [...a.times, ...b.times],
    isRetried: a.isRetried && b.isRetried,
    group: {
      ...newer.group,
      level: worst(a.group.level, b.group.level),
      count,
      first_at: older.group.first_at < newer.group.first_at ? older.group.first_at : newer.group.first_at,
    },
  }
}
