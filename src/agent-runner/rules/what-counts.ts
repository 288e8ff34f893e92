/** What of the log is worth somebody's time: one table, by whose fault it is, as far as names and words tell. */
import type { LogLevel } from '../../contracts/log-levels.ts'
import { DAY_MS, HOUR_MS, isChange, isMuch, meanIntervalMs, timeOf, type Picture } from './picture.ts'
import type { LogGroup } from './reader.ts'

/** `code`: a mistake of the program, whoever calls it. `capacity`: the app has used something up, which does not come back by itself. `dependency`: something else did not answer. `request`: refused as it should be. */
export type Fault = 'code' | 'capacity' | 'dependency' | 'request' | 'unknown'

export function faultOf(text: string): Fault {
  const cut = withoutQuotations(text.slice(0, 2_000))
  if (DEPENDENCY_FIRST.test(cut)) return 'dependency'
  if (CODE.test(cut)) return 'code'
  if (CAPACITY.test(cut)) return 'capacity'
  if (REQUEST.test(cut)) return 'request'
  if (DEPENDENCY.test(cut)) return 'dependency'
  return 'unknown'
}

/** What stands between quotes, somebody may have sent: it says nothing about the app. One that is not closed goes to the end. */
export const withoutQuotations = (text: string): string => text.replaceAll(/"[^"]*(?:"|$)/g, '"…"')

/** Node calls every failed request a TypeError. */
const DEPENDENCY_FIRST = /TypeError: (?:fetch failed|terminated|NetworkError)/

const CODE = new RegExp(
  [
    /\b(?:Type|Reference|Range|Syntax|Eval|Key|Attribute|Index|Name|UnboundLocal|ZeroDivision|Assertion|Import|ModuleNotFound|Recursion|Value|UnicodeDecode|UnicodeEncode|NotImplemented|Lookup|Overflow|NoMethod|Argument|Frozen|FloatDomain|Programming|Undefined|UncaughtException)Error\b/,
    /\b(?:NullPointer|NullReference|ClassCast|(?:Array|String)?Index(?:OutOfBounds|OutOfRange)|ArgumentOutOfRange|ArgumentNull|IllegalState|IllegalArgument|NumberFormat|Arithmetic|ConcurrentModification|NoSuchElement|NoSuchMethod|NoSuchField|ClassNotFound|UnsupportedOperation|InvalidOperation|InvalidCast|KeyNotFound|DivideByZero|Format|DateTimeParse|NoSuchFile)Exception\b/,
    /\b(?:StackOverflow|OutOfMemory|NoClassDefFound|NoSuchMethod|Linkage)Error\b/,
    /\bpanic(?:ked at|:| serving)|\bruntime error: |\bSIGSEGV\b|\bsegmentation fault\b|heap out of memory/,
    /\bis not (?:a function|a constructor|iterable|defined|callable|subscriptable)\b|\bof (?:undefined|null)\b|\bNoneType\b|\bundefined method\b|\bnil pointer\b|\bnull pointer\b/,
    /\bout of (?:range|bounds)\b|\bundefined (?:variable|index|array key|property|function|constant|offset|local variable)\b|\b(?:divide|division) by zero\b|\bmaximum call stack\b|\bcannot find module\b|\bno module named\b/,
    /\b(?:relation|column|table|function) \S{1,80} (?:of relation \S{1,80} )?does not exist\b|\bno such (?:table|column)\b|\bunknown column\b|\bsyntax error at\b|\bunhandled (?:promise )?rejection\b|\buncaught exception\b/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
)

const REQUEST =
  /\b(?:Validation|Zod|Joi|Yup|Schema|NotFound|Unauthori[sz]ed|Forbidden|BadRequest|Unprocessable|Authentication|Authorization|Permission|TokenExpired|InvalidToken|RateLimit|TooManyRequests|Abort|Cancel(?:led|ed)?|Disconnect(?:ed)?|BrokenPipe)(?:Error|Exception)?\b|\b(?:EPIPE|ECONNRESET|ECONNABORTED)\b|\bbad (?:request|name|input|credentials|password|token|format)\b|(?<!connection )\brefused\b|\b(?:declined|denied|rejected|invalid|expired|not found|unauthori[sz]ed|forbidden|malformed|too many requests|rate limit|throttled|blocked|banned|wrong password|login failed|failed login|authentication failed|client (?:closed|disconnected|aborted|gone)|request aborted|premature close|unsupported media|insufficient funds|out of stock|captcha|csrf|spam|no route|robots|already exists|too large|quota exceeded|missing (?:required )?(?:fields?|parameters?|headers?))\b|\b(?:status|code|http|returned|responded(?: with)?|answered)\W{0,3}4\d\d\b|\b(?:GET|POST|PUT|PATCH|DELETE|HEAD) \S{1,200}(?: HTTP\/[\d.]+)?"? 4\d\d\b/i

const CAPACITY =
  /\b(?:EMFILE|ENOSPC)\b|\bno space left\b|\bdisk full\b|\btoo many open\b|\btoo many connections\b|\bpool\b.{0,40}\b(?:exhaust\w*|time\w*|full|empty)|\btime\w*.{0,40}\b(?:acquir\w+|pool)\b|\bexhausted\b/i

const DEPENDENCY =
  /\b(?:ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOSPC|EMFILE|ESOCKETTIMEDOUT)\b|\btime(?:d[ -]?out|out)\b|TimeoutError|\bconnection (?:refused|reset|closed|terminated|lost|error)\b|\b(?:could not|cannot|unable to|failed to) (?:connect|reach|resolve)\b|\bdeadlock\b|\bunavailable\b|\bbad gateway\b|\bno space left\b|\bdisk full\b|\btoo many open files\b|\bunreachable\b|\bupstream\b|\bbroker\b|\bgetaddrinfo\b|\bhandshake\b/i

export const isSevere = (level: LogLevel): boolean => level === 'error' || level === 'fatal'

type Rule = {
  /** How often in the window. A mistake of the code happens again, even if it was seen once. */
  readonly least: number
  /** Also where nobody called it an error. */
  readonly atAnyLevel: boolean
  readonly isWorth: (picture: Picture, group: LogGroup) => boolean
}

const WHAT_COUNTS: Readonly<Record<Fault, Rule>> = {
  code: { least: 1, atAnyLevel: true, isWorth: () => true },
  capacity: { least: 3, atAnyLevel: false, isWorth: () => true },
  // What ended by itself a day ago, an earlier run has seen, or nobody misses it.
  unknown: {
    least: 3,
    atAnyLevel: false,
    isWorth: (picture, group) => isChange(picture, group) || !isOver(picture, group, DAY_MS),
  },
  // What did not answer for a while answers again when nobody complains; a network fails now and then.
  dependency: {
    least: 5,
    atAnyLevel: false,
    isWorth: (picture, group) =>
      isChange(picture, group) || !(isOver(picture, group, HOUR_MS / 2) || meanIntervalMs(group) > HOUR_MS),
  },
  // Refusals are what a healthy app answers to bad requests, unless something changed with them.
  request: { least: 5, atAnyLevel: false, isWorth: isChange },
}

/** `isPlaced`: a frame of it fits the source. What has no level and no such frame, anybody may have sent. */
export function counts(
  picture: Picture,
  {
    group,
    fault,
    isRetried,
    isPlaced,
  }: {
    readonly group: LogGroup
    readonly fault: Fault
    readonly isRetried: boolean
    readonly isPlaced: boolean
  },
): boolean {
  if (group.level === 'fatal') return true
  const { least, atAnyLevel, isWorth } = WHAT_COUNTS[fault]
  // An app that tries again, or only warns, has not failed yet.
  const isWarning = group.level === 'warn' || (fault !== 'code' && isRetried)
  if (isWarning && !(atAnyLevel && isPlaced)) return isMuch(picture, group)
  if (!isSevere(group.level) && !isPlaced) return false
  return group.count >= least && isWorth(picture, group)
}

/** `attempt 1 of 3`: only the last one has nothing behind it. */
export function isTriedAgain(text: string): boolean {
  const [, attempt, last] = /\battempt #?(\d{1,3}) ?(?:\/|of) ?(\d{1,3})\b/i.exec(text.slice(0, 500)) ?? []
  if (attempt !== undefined) return Number(attempt) < Number(last)
  return /\b(?:retrying|will retry|trying again|next (?:try |attempt )?in)\b/i.test(text.slice(0, 500))
}

const isOver = ({ now }: Picture, group: LogGroup, leastMs: number): boolean =>
  now - timeOf(group.last_at) > Math.max(leastMs, 3 * meanIntervalMs(group))
