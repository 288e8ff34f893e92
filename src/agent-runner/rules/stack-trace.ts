/**
 * Stack traces in log text, of the languages that people run. The text is hostile: lines are cut, every pattern is bounded,
 * and what somebody put between quotes over several lines is not read.
 */

export type Frame = {
  readonly path: string
  readonly line: number
  /** The function; null where the trace names none. */
  readonly symbol: string | null
  /** The line of source that the trace itself shows (Python). */
  readonly code: string | null
  /** Named in passing, not as a frame. */
  readonly isMention?: true
}

export type StackTrace = {
  /** Such as `TypeError`; null: the trace does not say. */
  readonly exception: string | null
  /** Innermost first. */
  readonly frames: readonly Frame[]
}

const LINES_MAX = 300
const LINE_MAX = 1_000

export function readStackTrace(text: string): StackTrace | null {
  const lines = withoutQuotedLines(splitLines(text))
  const segment = rootCause(lines)
  const { frames, format } = framesIn(segment)
  const innermostFirst = [...throwSites(lines), ...(format?.isInnermostLast ? frames.toReversed() : frames)]
  if (innermostFirst.length === 0) return null
  return { exception: exceptionIn(segment, format), frames: innermostFirst }
}

/** Whether a line can be part of a trace that was logged line by line. */
export const isTraceLine = (line: string): boolean =>
  FORMATS.some(({ pattern }) => pattern.test(line.slice(0, LINE_MAX))) ||
  /^(?:\s{2,}\S|Traceback \(most recent|Caused by: |goroutine \d+ \[|stack backtrace:|\s*\^+\s*$|\[signal )/.test(
    line,
  ) ||
  GO_CALL.test(line)

export const splitLines = (text: string): string[] =>
  text.split('\n', LINES_MAX).map((line) => line.slice(0, LINE_MAX))

/** A quotation that begins on the first line and ends on a later one holds what somebody sent, whatever it looks like. */
function withoutQuotedLines(lines: readonly string[]): string[] {
  const [first = '', ...rest] = lines
  if (!hasOpenQuote(first)) return [...lines]
  const end = rest.findIndex(hasOpenQuote)
  return end === -1 ? [first] : [first, ...rest.slice(end + 1)]
}

const hasOpenQuote = (line: string): boolean => (line.split('"').length - 1) % 2 === 1

type Format = {
  readonly pattern: RegExp
  readonly isInnermostLast?: true
  readonly read: (parts: RegExpExecArray, lines: readonly string[], at: number) => Frame
}

const frame = (path: string, line: string, symbol?: string, code: string | null = null): Frame => ({
  path,
  line: Number(line),
  symbol: symbol?.trim() || null,
  code,
})

/** What is more exact comes first. */
const FORMATS: readonly Format[] = [
  {
    // Python
    pattern: /^\s*File "([^"]{1,400})", line (\d{1,7})(?:, in (.{1,150}))?$/,
    isInnermostLast: true,
    read: ([, path, line, symbol], lines, at) => frame(path!, line!, symbol, codeBelow(lines, at)),
  },
  {
    // Java, Kotlin, Scala: the package is the folder
    pattern:
      /^\s*at (?:[\w.@-]{1,100}\/)?([\w.$<>]{1,300})\(([\w$-]{1,100}\.(?:java|kts?|scala|groovy)):(\d{1,7})\)/,
    read: ([, symbol, file, line]) => {
      const parts = symbol!.split('.')
      return frame([...parts.slice(0, -2), file!].join('/'), line!, parts.at(-1))
    },
  },
  {
    // .NET
    pattern: /^\s*at ([^(]{1,300})(?:\([^)]{0,300}\))? in ((?:[A-Za-z]:)?[^:]{1,300}):line (\d{1,7})$/,
    read: ([, symbol, path, line]) => frame(path!, line!, symbol!.split('.').at(-1)),
  },
  {
    // Node, Chrome, Deno, Bun; Rust's backtrace has the same shape without a name
    pattern:
      /^\s*at (?:async )?(?:new )?(?:([^()]{1,200}?) \()?((?:file:\/\/|webpack:\/\/\/?|https?:\/\/[^\s/:()]{1,100}(?::\d+)?|[A-Za-z]:)?[^\s():]{1,400}):(\d{1,7}):\d{1,7}\)?$/,
    read: ([, symbol, path, line], lines, at) => frame(path!, line!, symbol ?? rustSymbol(lines[at - 1])),
  },
  {
    // Ruby
    pattern:
      /^\s*(?:from |\d{1,4}: from )?([^\s:]{1,400}\.(?:rb|rake|ru|erb)):(\d{1,7}):in [`'"]([^'"]{1,150})['"]/,
    read: ([, path, line, symbol]) =>
      frame(
        path!,
        line!,
        symbol!
          .replace(/^.* in /, '')
          .split(/[#.]/)
          .at(-1),
      ),
  },
  {
    // Go: the function stands on the line above
    pattern: /^\s*([^\s:]{1,400}\.go):(\d{1,7})(?: \+0x[0-9a-f]+)?$/,
    read: ([, path, line], lines, at) => frame(path!, line!, GO_CALL.exec(lines[at - 1] ?? '')?.[1]),
  },
  {
    // PHP: the place of a call; where it was thrown stands in the message
    pattern: /^#\d{1,4} ([^\s(]{1,400}\.php)\((\d{1,7})\):/,
    read: ([, path, line]) => frame(path!, line!),
  },
  {
    // Dart
    pattern:
      /^#\d{1,4}\s{1,10}(.{1,150}?) \((?:package:[^/\s]{1,100}\/|file:\/\/)?([^\s():]{1,400}):(\d{1,7})(?::\d+)?\)$/,
    read: ([, symbol, path, line]) => frame(path!, line!, symbol!.split('.').at(-1)),
  },
  {
    // Elixir
    pattern: /^\s*(?:\([\w.-]{1,100} [\w.-]{1,50}\) )?([^\s:]{1,400}\.exs?):(\d{1,7}): ?(.{0,150})/,
    read: ([, path, line, symbol]) => frame(path!, line!, symbol!.split('/')[0]!.split('.').at(-1)),
  },
  {
    // Firefox, Safari
    pattern:
      /^([^@\s]{0,150})@((?:https?:\/\/[^\s/:]{1,100}(?::\d+)?|file:\/\/)?[^\s:]{1,400}):(\d{1,7}):\d{1,7}$/,
    read: ([, symbol, path, line]) => frame(path!, line!, symbol),
  },
]

const GO_CALL = /^(?:[\w./~@-]{1,300}\.)?(?:\(\*?\w{1,100}\)\.)?(\w{1,100})(?:\.func\d+)*\([^()]{0,300}\)$/

const rustSymbol = (above: string | undefined): string | undefined =>
  /^\s*\d{1,4}: ([\w:<>]{1,200})$/
    .exec(above ?? '')?.[1]
    ?.split('::')
    .at(-1)

function codeBelow(lines: readonly string[], at: number): string | null {
  const [own, below] = [lines[at]!, lines[at + 1]]
  if (below === undefined || indentOf(below) <= indentOf(own)) return null
  return below.trim()
}

const indentOf = (line: string): number => line.search(/\S/)

/** Errors that were raised outside a frame: Rust, PHP, Ruby, Perl and Lua name the place in the message. */
const THROW_SITES: readonly RegExp[] = [
  /\s([^\s:]{1,400}\.rb):(\d{1,7}):in [`'"][^'"]{1,150}['"]: /,
  /panicked at (?:'[^']{0,400}', )?([^\s:']{1,400}\.rs):(\d{1,7}):\d{1,7}/,
  / in ([^\s:]{1,400}\.php)(?::| on line )(\d{1,7})/,
  / at ([^\s:]{1,400}\.p[lm]) line (\d{1,7})[.,]/,
  /(?:^|\s)([^\s:]{1,400}\.lua):(\d{1,7}): /,
]

const throwSites = (lines: readonly string[]): Frame[] =>
  lines.slice(0, 10).flatMap((line) =>
    THROW_SITES.flatMap((pattern) => {
      const [, path, at] = pattern.exec(line) ?? []
      return path === undefined ? [] : [frame(path, at!)]
    }),
  )

function framesIn(lines: readonly string[]): { frames: Frame[]; format: Format | null } {
  for (const format of FORMATS) {
    const frames = lines.flatMap((line, at) => {
      const parts = format.pattern.exec(line)
      return parts ? [format.read(parts, lines, at)] : []
    })
    if (frames.length > 0) return { frames, format }
  }
  return { frames: placesIn(lines), format: null }
}

/** A place named in passing: loggers that say where they were called, compilers, shells, Lua, Perl. */
const PLACE =
  /(?:^|[\s(["'])(\/?(?:[\w@.-]{1,100}\/){0,20}[\w@.-]{1,100}\.(?:[cm]?js|jsx|tsx?|py|rb|go|rs|java|kt|php|cs|exs?|lua|p[lm]|sh|sql|c|cc|cpp|swift|scala|dart))(?::|\(| line |: line )(\d{1,7})/g

const placesIn = (lines: readonly string[]): Frame[] =>
  lines
    .slice(0, 20)
    .flatMap((line) =>
      [...line.matchAll(PLACE)].map(([, path, at]): Frame => ({ ...frame(path!, at!), isMention: true })),
    )

/** Java and Node write the cause last, Python first. */
function rootCause(lines: readonly string[]): readonly string[] {
  const tracebacks = positions(lines, /^\s*(?:\+ )?Traceback \(most recent call last\)/)
  if (tracebacks.length > 1) {
    const isChained = lines.some((line) => /^\s*(?:During handling of|The above exception was)/.test(line))
    return isChained ? lines.slice(tracebacks[0], tracebacks[1]) : lines.slice(tracebacks.at(-1))
  }
  const causes = positions(lines, /^\s*(?:Caused by: |\[cause\]: )/).filter(
    (at) => framesIn(lines.slice(at)).format !== null,
  )
  return causes.length > 0 ? lines.slice(causes.at(-1)) : lines
}

const positions = (lines: readonly string[], pattern: RegExp): number[] =>
  lines.flatMap((line, at) => (pattern.test(line) ? [at] : []))

function exceptionIn(lines: readonly string[], format: Format | null): string | null {
  if (!format?.isInnermostLast) return exceptionName(lines.slice(0, 10).join('\n'))
  const last = lines.findLastIndex((line) => format.pattern.test(line))
  const named = lines.slice(last + 1).find((line) => /^[A-Za-z_][\w.]{0,150}(?::|$)/.test(line))
  return named === undefined ? exceptionName(lines.join('\n')) : /^[\w.]+/.exec(named)![0].split('.').at(-1)!
}

const EXCEPTION =
  /(?:^|[^\w$])((?:[A-Z][\w$]{0,80})?(?:Error|Exception)|[A-Z][\w$]{1,80}(?:Fault|Failure|Timeout|Exit))(?![\w$])/

/** The short name of the first exception that a text names. */
export function exceptionName(text: string): string | null {
  const cut = text.slice(0, 2 * LINE_MAX)
  if (/(?:^|[\s'])panic(?:ked at|:| serving)/.test(cut)) return 'panic'
  if (/segmentation fault|SIGSEGV/i.test(cut)) return 'SIGSEGV'
  return EXCEPTION.exec(cut)?.[1] ?? null
}
