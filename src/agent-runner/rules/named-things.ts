/** What an error message names: the column that is not there, the module that is missing, the property of nothing. */

const NAMES: readonly RegExp[] = [
  /\bcolumn ["'`]?([\w.]{2,80})["'`]? (?:of relation \S{1,80} )?does not exist/i,
  /\b(?:no such column:?|unknown column) ["'`]?([\w.]{2,80})/i,
  /\b(?:relation|table) ["'`]?([\w.]{2,80})["'`]? (?:does not|doesn't) exist/i,
  /\bno such table:? ["'`]?([\w.]{2,80})/i,
  /\bcannot find (?:module|package) ["'`]([^"'`\s]{1,120})["'`]/i,
  /\bno module named ["'`]?([\w.]{1,120})/i,
  /\bKeyError: ["'`]?([^"'`\s]{1,80})["'`]?/,
  /\bhas no attribute ["'`](\w{1,80})["'`]/,
  /\bundefined (?:local variable or )?method ["'`]([\w?!=]{1,80})["'`]/,
  /\breading ["'`]([\w$]{1,80})["'`]/,
  /\bsetting ["'`]([\w$]{1,80})["'`]/,
  /\b([\w$]{2,80})(?:\(\.\.\.\))? is not (?:a function|a constructor|defined|iterable)\b/,
  /\bname ["'`](\w{1,80})["'`] is not defined/,
  /\bno such file or directory[,:]? (?:(?:open|stat|scandir|unlink|access) )?["'`]?([^"'`\s]{2,200})/i,
  /\b([A-Z][A-Z0-9]*_[A-Z0-9_]{2,80}) (?:is |was |must be )?(?:not set|missing|undefined|required|empty|not configured|set\b)/,
  /\b(?:missing|undefined|unset|required|no) (?:env(?:ironment)?(?: variable| var)?|setting|variable|config(?:uration)?(?: key| value| option)?):? ["'`]?([A-Za-z][\w.-]{2,80})/i,
  /\bunknown (?:field|option|key|flag|argument|parameter|property|type|command|template|queue|topic|event) ["'`]?([\w.-]{2,80})/i,
  /\bsyntax error at or near ["'`]([^"'`\s]{2,80})["'`]/i,
  /\b(?:connect|getaddrinfo) E\w+ ([\w.-]{3,120}(?::\d{2,5})?)/,
  /\bconnect E\w+ [\w.:[\]-]{3,120}?(:\d{4,5})\b/,
  /\b(?:template|view|partial|key|feature|flag|route|queue|topic|bucket) ["'`]([^"'`\s]{2,120})["'`] (?:not found|does not exist|is missing|is unknown|is not defined)/i,
]

/** Names in the order of the patterns, each once. Short ones would be found everywhere. */
export function namedThings(text: string): string[] {
  const cut = text.slice(0, 2_000)
  const found = NAMES.flatMap((pattern) => {
    const name = pattern.exec(cut)?.[1]?.replace(/[.,:;)]+$/, '')
    return name !== undefined && name.length >= 3 ? [name] : []
  })
  return [...new Set(found)]
}

/** The path of a request as a program registers it: up to the first part that is an id. */
export function routeIn(text: string): string | null {
  const path = /\b(?:GET|POST|PUT|PATCH|DELETE)["']? (?:path=)?["']?(\/[\w/.-]{2,200})/.exec(text)?.[1]
  const segments = path?.split('/').slice(1) ?? []
  const end = segments.findIndex((segment) => /\d/.test(segment))
  const route = `/${(end === -1 ? segments : segments.slice(0, end)).join('/')}`
  return route.length >= 6 ? route : null
}
