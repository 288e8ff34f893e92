/**
 * What a reviewer should look at in a diff: found by signs alone, without judgment, so that no text in the diff can talk
 * it out of them. It finds too much rather than too little. Pure, and linear in its input.
 */
import { codeOf, INVISIBLE } from '../../contracts/invisible-characters.ts'
import type { DiffFlag } from '../../contracts/proposal-decisions.ts'
import { readDiffLines, splitDiff, type DiffLine } from '../../contracts/read-diff.ts'

export type Flag = {
  readonly kind: DiffFlag
  readonly path: string
  readonly line: number | null
  readonly detail: string
}

const DETAIL_MAX = 120

/** All of them: a change has few lines, and whatever were left out could be what matters. `paths`: of the files of the diff, in its order. */
export const diffFlags = (diff: string, paths: readonly string[]): Flag[] =>
  splitDiff(diff).flatMap((part, n) => fileFlags(paths[n] ?? '', readDiffLines(part)))

function fileFlags(path: string, lines: readonly DiffLine[]): Flag[] {
  const before = lines.filter(({ kind }) => kind === 'removed' || kind === 'same').map(({ text }) => text)
  const context = { path, known: knownIn(path, before) }
  const found = lines
    .filter(({ kind }) => kind === 'added')
    .flatMap(({ text, now }) =>
      SCANNERS.flatMap(({ kind, scan }) =>
        [...new Set(scan(text, context))].map((detail) => ({ kind, path, line: now, detail: shown(detail) })),
      ),
    )
  const removed = lines.filter(({ kind }) => kind === 'removed').length
  return removed > 0 && isTest(path)
    ? [...found, { kind: 'removed_test', path, line: null, detail: linesOf(removed) }]
    : found
}

/** Whatever the old text, as far as it is shown, has already is not new. */
function knownIn(path: string, before: readonly string[]): Known {
  return {
    lines: new Set(before.map((line) => line.trim())),
    hosts: new Set(before.flatMap(hostsIn)),
    dependencies: new Set(before.flatMap((line) => dependenciesIn(path, line)).flatMap(keysOf)),
  }
}

const linesOf = (count: number): string => (count === 1 ? 'one line' : `${count} lines`)

type Known = Readonly<Record<'lines' | 'hosts' | 'dependencies', ReadonlySet<string>>>
type Context = { readonly path: string; readonly known: Known }
type Scanner = {
  readonly kind: DiffFlag
  readonly scan: (line: string, context: Context) => readonly string[]
}

/** More of them than any indentation, with something behind them. */
const BLANKS = /(?<![ \t])[ \t]{41,}(?=\S)/g
const WORD = /[\p{L}\p{M}\p{N}_$]+/gu
const LATIN = /\p{Script=Latin}/u
/** Those with letters that look like Latin ones, and Latin ones in other widths and styles. */
const LOOKALIKE =
  /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Lisu}\p{Script=Coptic}\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}]/u
/** With a scheme or without one, with slashes of either kind, and an address of version 6 in brackets. */
const URL_HOST =
  /(?:\b(?:[a-z][a-z0-9+.-]{1,20}:[\\/]{2,8}|(?:https?|wss?):[\\/]?)|(?<![:\\/])[\\/]{2}(?=[^\s/'"`<>@()]{1,200}[.:]))(?:[^\s/\\'"`<>@()[\]{}]{1,200}@)?(\[[0-9a-f:.%]{2,60}\](?::\d{1,5})?|[^\s/\\'"`<>@()[\]{}?#]{1,253})/gi
/** As it is given to whatever connects: in quotes, with a dot, and not the name of a file. */
const QUOTED_HOST =
  /['"`]((?:[a-z0-9_-]{1,63}\.){1,10}(?!(?:[cm]?[jt]sx?|json|css|html?|txt|ya?ml|toml|xml|svg|png|jpe?g|gif|test|spec)\b)[a-z][a-z0-9-]{1,62}(?::\d{1,5})?)(?=['"`/])/gi
const ADDRESS = /(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])/g

/** Of any language: which one a file is in is for the reviewer to know. */
const DANGEROUS =
  /\b(?:eval|exec|execSync|execFile|execFileSync|spawn|spawnSync|fork|popen|system|shell_exec|passthru|proc_open|fetch|sendBeacon|setInterval|unserialize|exec\.Command|os\.(?:system|popen|exec\w*|spawn\w*)|subprocess\.\w+|pickle\.loads?|marshal\.loads?|yaml\.load|Runtime\.getRuntime|ProcessBuilder|http\.(?:get|post|request|Get|Post)|https\.(?:get|request)|net\.(?:connect|createConnection|Dial)|dns\.\w+|socket\.\w+|urllib\.\w+|requests\.(?:get|post|put|request)|axios(?:\.\w+)?|vm\.\w+|import|require_once|include_once|document\.write)\s{0,4}\(|\bnew\s{1,4}(?:Function|XMLHttpRequest|WebSocket|EventSource|Worker)\b|\bchild_process\b|\bdangerouslySetInnerHTML\b|\.(?:innerHTML|outerHTML)\s{0,4}=|\b(?:curl|wget|nc|bash|sh|powershell)\s{1,4}-|\bprocess\.(?:binding|dlopen|env)\b|\bos\.environ\b|\bgetenv\s{0,4}\(|\bnode:(?:child_process|net|dgram|vm|worker_threads|http2?|https|dns|tls)\b/g

/** With a scheme or without one: into a shell by a pipe, as its argument, or as what it reads. */
const FETCHER = String.raw`(?:curl|wget|fetch|aria2c|https?|xh|iwr|irm|invoke-webrequest|invoke-restmethod)`
const SHELL = String.raw`(?:(?:[\w./-]{0,60}/)?(?:sudo|env|doas)\s{1,4}(?:-\S{1,20}\s{1,4}){0,4})?(?:[\w./-]{0,60}/)?(?:(?:ba|z|k|da|a|fi|c)?sh|python[\d.]{0,5}|node|deno|bun|perl|ruby|php|pwsh|powershell|iex|invoke-expression|source)`
const PIPED_DOWNLOAD = new RegExp(
  String.raw`\b${FETCHER}\b[^|\n]{1,1000}(?:\|&?[^|\n]{1,200}){0,3}\|&?\s{0,4}${SHELL}\b|\b(?:${SHELL}|eval|\.)\s{1,4}(?:-\S{1,20}\s{1,4}){0,4}["']?(?:<\(|\$\(|\`|\()\s{0,4}${FETCHER}\b`,
  'gi',
)

const SCANNERS: readonly Scanner[] = [
  {
    kind: 'invisible_character',
    // That which ends lines on Windows stands there where the whole file has it.
    scan: (line) => [...line.replace(/\r$/, '').matchAll(INVISIBLE)].map(([character]) => codeOf(character)),
  },
  {
    kind: 'mixed_alphabet',
    scan: (line) =>
      [...line.matchAll(WORD)]
        .map(([word]) => word)
        .filter((word) => LATIN.test(word) && LOOKALIKE.test(word)),
  },
  {
    kind: 'hidden_by_blanks',
    scan: (line) => [...line.matchAll(BLANKS)].map(([blanks]) => `${blanks.length} blanks`),
  },
  {
    kind: 'new_host',
    scan: (line, { known }) => hostsIn(line).filter((host) => !known.hosts.has(host)),
  },
  {
    kind: 'piped_download',
    scan: (line, { known }) =>
      known.lines.has(line.trim())
        ? []
        : [...line.matchAll(PIPED_DOWNLOAD)].map(([piped]) => piped.replaceAll(/\s+/g, ' ')),
  },
  {
    kind: 'dangerous_call',
    // Of a line that was only moved nobody need be warned.
    scan: (line, { known }) =>
      known.lines.has(line.trim())
        ? []
        : [...line.matchAll(DANGEROUS)].map(([call]) => call.replaceAll(/\s+/g, ' ')),
  },
  {
    kind: 'new_dependency',
    scan: (line, { path, known }) =>
      dependenciesIn(path, line)
        .filter((one) => !keysOf(one).every((key) => known.dependencies.has(key)))
        .map(({ name, source }) => (source === '' ? name : `${name}: ${source}`)),
  },
]

const hostsIn = (line: string): string[] => [
  ...[...line.matchAll(URL_HOST), ...line.matchAll(QUOTED_HOST)].map((match) => match[1]!.toLowerCase()),
  ...[...line.matchAll(ADDRESS)].map(([address]) => address),
]

/** `source`: where it comes from; empty where only a version says it. */
type Dependency = { readonly name: string; readonly source: string }

/** What must be known of it, so that it is nothing new. */
const keysOf = ({ name, source }: Dependency): string[] =>
  source === '' ? [name] : [name, `${name} ${source}`]

/** Of another package, a repository, a folder or an address: a version has none of these signs. */
const sourceIn = (value: string): string => (/[:/\\@]|=>/.test(value) ? value.trim() : '')

/** Names of packages in the files that declare them, and modules that a program imports. */
function dependenciesIn(path: string, line: string): Dependency[] {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase()
  const entries = MANIFESTS.find(({ file }) => file.test(name))?.entries ?? []
  const declared = entries.flatMap((entry) =>
    [...line.matchAll(entry)].map((match) => ({ name: match[1]!, source: sourceIn(match[2] ?? '') })),
  )
  const imported = IMPORTS.flatMap((pattern) => [...line.matchAll(pattern)].map((match) => match[1]!))
  return [
    ...declared,
    ...imported.filter((module) => !isIncluded(module)).map((module) => ({ name: module, source: '' })),
  ]
}

/** Every entry of a line: the name, and what stands there for its version. None takes longer than its length. */
const MANIFESTS: readonly { file: RegExp; entries: readonly RegExp[] }[] = [
  {
    file: /^(?:package|composer|deno)\.jsonc?$/,
    // A value may stand on the next line.
    entries: [
      /"([^"]{1,214})"\s{0,20}:\s{0,20}"([^"]{0,500})"/g,
      /(?<!:\s{0,20})"([^"]{1,214})"\s{0,20}:?\s{0,20}$/g,
    ],
  },
  {
    file: /^(?:requirements|constraints).*\.(?:txt|in)$/,
    entries: [/^\s{0,20}(-[a-z-]{1,30}[\s=]\s{0,20}\S{1,300}|[A-Za-z0-9][\w.-]{0,200})(.{0,500})/g],
  },
  {
    file: /^(?:cargo|pyproject)\.toml$|^pipfile$/,
    entries: [
      /(?:^|[{,])\s{0,20}["']?([A-Za-z0-9][\w.-]{0,200})["']?\s{0,20}=([^,}]{0,500})/g,
      /["']([A-Za-z][\w.-]{0,200})([^"']{0,500})["']/g,
    ],
  },
  { file: /^go\.mod$/, entries: [/(?<![^\s(])([\w-]{1,60}(?:\.[\w-]{1,60}){1,10}\/[^\s()]{1,200})/g] },
  {
    file: /^(?:gemfile|.*\.gemspec)$/,
    entries: [/\b(?:gem|add_(?:\w{1,20}_)?dependency)\s{0,20}\(?\s{0,20}['"]([^'"]{1,200})['"](.{0,500})/g],
  },
  { file: /^pom\.xml$/, entries: [/<(?:artifactId|groupId)>([^<]{1,200})</g] },
  {
    file: /\.gradle(?:\.kts)?$/,
    entries: [
      /\b(?:\w{0,30}[iI]mplementation|\w{0,30}[aA]pi|compile\w{0,30}|runtime\w{0,30}|classpath|id)\s{0,20}\(?\s{0,20}['"]([^'"]{1,300})/g,
    ],
  },
  {
    file: /\.(?:cs|fs|vb)proj$|^directory\.packages\.props$/,
    entries: [/<Package(?:Reference|Version)[^>]{0,300}Include="([^"]{1,200})"/gi],
  },
  { file: /^mix\.exs$/, entries: [/\{\s{0,20}:(\w{1,200})\s{0,20},([^}]{0,500})/g] },
  {
    file: /^(?:docker|container)file/,
    entries: [/^\s{0,20}(?:FROM|COPY\s{1,20}--from=)\s{0,20}(\S{1,300})/gi],
  },
]

const IMPORTS: readonly RegExp[] = [
  /\bfrom\s{1,4}['"]([^'"]{1,200})['"]/g,
  /\bimport\s{1,4}['"]([^'"]{1,200})['"]/g,
  /\b(?:require|import)\s{0,4}\(\s{0,4}['"]([^'"]{1,200})['"]/g,
]

/** Files of the app itself, and what comes with Node. */
const isIncluded = (module: string): boolean => /^(?:[./#~]|@\/|node:)/.test(module)

const isTest = (path: string): boolean =>
  /(?:^|\/)(?:tests?|__tests__|specs?)\/|[._-](?:test|spec)\.\w+$|(?:^|\/)test_[^/]+\.py$/i.test(path)

/** Plain text: a reviewer sees the letters of another alphabet by their codes. */
const shown = (text: string): string =>
  [...text]
    .slice(0, DETAIL_MAX)
    .map((character) => (/^[ -~]$/.test(character) ? character : codeOf(character)))
    .join('')
