/** Whose fault an error is, as far as its name and words tell: of the code, of what it depends on, or of the request. */
import type { LogLevel } from '../../contracts/log-levels.ts'

/** `code`: a mistake of the program, whoever calls it. `dependency`: something else did not answer. `request`: refused as it should be. */
export type Fault = 'code' | 'dependency' | 'request' | 'unknown'

export function faultOf(text: string): Fault {
  const cut = withoutQuotations(text.slice(0, 2_000))
  if (DEPENDENCY_FIRST.test(cut)) return 'dependency'
  if (CODE.test(cut)) return 'code'
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

const DEPENDENCY =
  /\b(?:ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOSPC|EMFILE|ESOCKETTIMEDOUT)\b|\btime(?:d[ -]?out|out)\b|TimeoutError|\bconnection (?:refused|reset|closed|terminated|lost|error)\b|\b(?:could not|cannot|unable to|failed to) (?:connect|reach|resolve)\b|\bdeadlock\b|\bunavailable\b|\bbad gateway\b|\bno space left\b|\bdisk full\b|\btoo many open files\b|\bunreachable\b|\bupstream\b|\bbroker\b|\bgetaddrinfo\b|\bhandshake\b/i

/** How often in the window before it is worth somebody's time. A mistake of the code happens again, even if it was seen once. */
export const MIN_COUNT: Readonly<Record<Fault, number>> = { code: 1, unknown: 3, dependency: 5, request: 5 }

export const isSevere = (level: LogLevel): boolean => level === 'error' || level === 'fatal'

/** Something is said to work again. */
export const RECOVERY =
  /\b(?:recovered|reconnected|re-?established|restored|resumed|back online|back to normal|succeeded (?:after|on)|retry (?:succeeded|ok|successful)|healthy again|connection (?:ok|established))\b/i
