/** Which file of the source a path in a stack trace means: where an app was built and runs is not where its source is. */

/** Others' code, whoever ships it. */
const FOREIGN =
  /(?:^|\/)(?:node_modules|site-packages|dist-packages|vendor|bower_components|\.cargo|\.rustup|rustc|gems|\.pub-cache)\/|^(?:node:|internal\/|<)|^\/usr\/(?:lib|local\/lib|local\/go|share)\/|\/python\d[\d.]*\/|\/go\/(?:pkg\/mod|src\/runtime)\//

/** Documents, tests, locks: named in a search, but not what runs. */
const NOT_PROGRAM =
  /\.(?:md|markdown|rst|txt|lock|snap|svg|map|log|csv)$|(?:^|\/)(?:tests?|specs?|__tests__|fixtures|docs?)\/|[._-](?:test|spec)\.\w+$|(?:^|\/)(?:test_[^/]+|package-lock\.json|yarn\.lock|pnpm-lock\.yaml|CHANGELOG|LICENSE|README)/i

export const isProgram = (path: string): boolean => !NOT_PROGRAM.test(path)

/** The files it can mean, those that share most of its path; none for code of others. */
export function filesFor(path: string, files: readonly string[]): string[] {
  const clean = cleanPath(path)
  if (FOREIGN.test(clean)) return []
  const wanted = segmentsOf(clean)
  const exact = longest(files, (file) => sharedEnd(segmentsOf(file), wanted))
  return exact.length > 0 ? exact : longest(files, (file) => sharedEnd(stemsOf(file), stemsOf(clean)))
}

/** Its last part, unless it is others' code or says nothing. */
export function nameOf(path: string): string | null {
  const clean = cleanPath(path)
  const name = segmentsOf(clean).at(-1)
  return FOREIGN.test(clean) || name === undefined || !/^[\w.-]{3,100}$/.test(name) ? null : name
}

const cleanPath = (path: string): string =>
  path
    .replace(/^(?:file|webpack):\/{2,3}(?=.)/, '/')
    .replace(/^https?:\/\/[^/]+/, '')
    .replace(/[?#].*$/, '')
    .replaceAll('\\', '/')
    .replace(/^[A-Za-z]:/, '')
    .replaceAll(/(?:^|\/)\.(?=\/)/g, '')

const segmentsOf = (path: string): string[] => path.split('/').filter((segment) => segment !== '')

/** A compiled file has its source's name and another extension; built folders are left out. */
const stemsOf = (path: string): string[] =>
  segmentsOf(path)
    .filter((segment) => !/^(?:dist|build|out|lib|src|target|\.next)$/.test(segment))
    .map((segment) => segment.replace(/\.(?:[cm]?[jt]sx?)$/, '.js'))

/** Names that every program has say little about which file is meant. */
const COMMON_NAME = /^(?:index|main|app|server|utils?|helpers?|models?|views?|__init__|mod|lib)\.\w+$/

/** How many segments agree from the end; 0 if that is too little to tell. */
function sharedEnd(file: readonly string[], wanted: readonly string[]): number {
  const length = Math.min(file.length, wanted.length)
  let shared = 0
  while (shared < length && file.at(-1 - shared) === wanted.at(-1 - shared)) shared += 1
  if (shared === length || shared >= 2) return shared
  return shared === 1 && !COMMON_NAME.test(file.at(-1)!) ? 1 : 0
}

function longest(files: readonly string[], lengthOf: (file: string) => number): string[] {
  const found = files.map((file) => ({ file, length: lengthOf(file) })).filter(({ length }) => length > 0)
  const most = Math.max(0, ...found.map(({ length }) => length))
  return found.filter(({ length }) => length === most).map(({ file }) => file)
}
