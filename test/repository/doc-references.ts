/** What a page of documentation points at: files, headings, npm scripts, settings. */
import { dirname, join } from 'node:path/posix'

export type World = {
  /** Text of a file, '' for a folder, undefined for what is not there. */
  read(path: string): string | undefined
  scripts: ReadonlySet<string>
  /** Names in capitals that mean something: settings, error codes, constants. */
  names: ReadonlySet<string>
}

const OUR_FOLDERS = 'src|mcp|oauth|db|test|scripts|bench|bin|docs|chart'

/** Everything the page names that does not exist, as sentences. */
export function brokenReferences(page: string, text: string, world: World): string[] {
  return [
    ...brokenLinks(page, text, world),
    ...missingPaths(text, world).map((path) => `there is no ${path}`),
    ...missingScripts(text, world).map((script) => `there is no npm script ${script}`),
    ...unknownNames(text, world).map((name) => `${name} is neither a setting nor a name in the code`),
  ].map((problem) => `${page}: ${problem}`)
}

function brokenLinks(page: string, text: string, world: World): string[] {
  return [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
    if (/^[a-z]+:/.test(link)) return []
    const [path = '', heading] = link.split('#')
    const target = path === '' ? text : world.read(join(dirname(page), path))
    if (target === undefined) return [`the link ${link} leads nowhere`]
    return heading === undefined || headingsOf(target).has(heading)
      ? []
      : [`the link ${link} names no heading`]
  })
}

/** Anchors as the usual renderers make them: lower case, no punctuation, hyphens for spaces. */
const headingsOf = (text: string): Set<string> =>
  new Set(
    [...withoutCode(text, 'fences').matchAll(/^#+ +(.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  )

/** Paths that begin with one of our folders; up to the last folder where a placeholder like `<noun>` or `*` follows. */
function missingPaths(text: string, world: World): string[] {
  const pattern = new RegExp(`(?<![\\w/.:@-])(?:${OUR_FOLDERS})/[\\w./-]*\\w(?<more>[<*{…]?)`, 'g')
  return [...text.matchAll(pattern)]
    .map(({ 0: found, groups }) => (groups?.['more'] ? dirname(found) : found))
    .filter((path) => world.read(path) === undefined)
}

const missingScripts = (text: string, world: World): string[] =>
  [...text.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)]
    .map(([, run, short]) => run ?? short ?? '')
    .filter((script) => !world.scripts.has(script))

function unknownNames(text: string, world: World): string[] {
  const code = [...text.matchAll(/```[^\n]*\n[^]*?```|`[^`\n]+`/g)].map(([found]) => found).join('\n')
  const names = [
    ...code.matchAll(/(?<![\w$-])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?![\w-])/g),
    ...code.matchAll(/(?<![\w$-])[A-Z][A-Z0-9_]+(?==)/g),
  ].map(([name]) => name)
  return [...new Set(names)].filter((name) => !world.names.has(name))
}

const withoutCode = (text: string, what: 'all' | 'fences' = 'all'): string =>
  text.replaceAll(what === 'all' ? /```[^]*?```|`[^`\n]*`/g : /```[^]*?```/g, '')
