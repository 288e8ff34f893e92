/** Which files git would ignore: gitignore(5), for one .gitignore and for all of them on the way to a file. */

/** Names of a path one by one; `**` stands for any number of them. */
type Glob = readonly (readonly Part[] | '**')[]
/** One character, or any number of them. Not a regular expression: a .gitignore from elsewhere could make one hang. */
type Part = '*' | ((character: string) => boolean)
type Rule = { readonly isNegated: boolean; readonly foldersOnly: boolean; readonly glob: Glob }

export type IgnoreFile = {
  /** Of its folder, from the root of the tree, with a slash at the end; empty at the root. */
  readonly folder: string
  /** From its folder to the root of the tree, with a slash at the end, where it lies above. */
  readonly above?: string
  readonly rules: readonly Rule[]
}

export const readIgnoreFile = (folder: string, text: string): IgnoreFile => ({
  folder,
  rules: asBytes(text.replace(/^\ufeff/, ''))
    .split(/\r?\n/)
    .flatMap((line) => ruleOf(line) ?? []),
})

/**
 * `files` are those of the folders on the way, the outermost first: the last rule that fits decides. Whoever walks does not
 * enter an ignored folder, so nothing in it can be included again, as with git.
 */
export function isIgnored(files: readonly IgnoreFile[], path: string, isFolder: boolean): boolean {
  for (const { folder, above = '', rules } of files.toReversed()) {
    const below = asBytes(above + path.slice(folder.length))
    const names = below.split('/')
    const rule = rules.findLast(
      ({ glob, foldersOnly }) => (isFolder || !foldersOnly) && fitsPath(glob, names),
    )
    if (rule) return !rule.isNegated
  }
  return false
}

/** One character a byte: to git, a question mark is one byte. */
const asBytes = (text: string): string => Buffer.from(text).toString('latin1')

function ruleOf(line: string): Rule | undefined {
  if (line.startsWith('#')) return undefined
  // Blanks at the end are left out, unless the last one is escaped.
  let text = line.replace(/(?<!\\)\s+$/, '')
  const isNegated = text.startsWith('!')
  if (isNegated) text = text.slice(1)
  const foldersOnly = text.endsWith('/')
  if (foldersOnly) text = text.slice(0, -1)
  if (text === '' || text === '/') return undefined
  // With a slash before its end it is about a place, otherwise about a name anywhere below.
  const isAnchored = text.includes('/')
  const segments = text.replace(/^\//, '').split('/')
  const glob: (readonly Part[] | '**')[] = isAnchored ? [] : ['**']
  for (const [at, segment] of segments.entries()) {
    const isAny = isAnchored && segment === '**'
    if (isAny) glob.push('**')
    // `folder/**` is about what is in the folder.
    if (isAny && at === segments.length - 1) glob.push(['*'])
    if (isAny) continue
    const parts = partsOf(segment)
    if (!parts) return undefined
    glob.push(parts)
  }
  return { isNegated, foldersOnly, glob }
}

const fitsPath = (glob: Glob, names: readonly string[]): boolean =>
  fits(
    glob,
    names,
    (part) => part === '**',
    (part, name) => part !== '**' && fitsName(part, name),
  )

const fitsName = (parts: readonly Part[], name: string): boolean =>
  fits(
    parts,
    [...name],
    (part) => part === '*',
    (part, character) => part !== '*' && part(character),
  )

/** The last star takes one more whenever what follows it does not fit: that is enough, and never takes long. */
function fits<Pattern, Item>(
  pattern: readonly Pattern[],
  items: readonly Item[],
  isStar: (part: Pattern) => boolean,
  fitsOne: (part: Pattern, item: Item) => boolean,
): boolean {
  let [at, taken] = [0, 0]
  let star: { at: number; taken: number } | undefined
  while (taken < items.length) {
    const part = pattern[at]
    if (part !== undefined && isStar(part)) {
      star = { at, taken }
      at += 1
    } else if (part !== undefined && fitsOne(part, items[taken]!)) {
      at += 1
      taken += 1
    } else if (star) {
      star.taken += 1
      at = star.at + 1
      taken = star.taken
    } else return false
  }
  return pattern.slice(at).every(isStar)
}

/** Undefined: a bracket that does not end, which fits nothing. */
function partsOf(segment: string): readonly Part[] | undefined {
  const parts: Part[] = []
  for (let at = 0; at < segment.length;) {
    const rest = segment.slice(at)
    const bracket = /^\[([!^]?)(\]?(?:\\.|\[:\w+:\]|[^\]\\])*)\]/su.exec(rest)
    if (rest.startsWith('[') && !bracket) return undefined
    const character = String.fromCodePoint(rest.codePointAt(0)!)
    const escaped = character === '\\' ? [...rest][1] : undefined
    if (bracket) parts.push(bracketOf(bracket[1] !== '', bracket[2]!))
    else if (escaped !== undefined) parts.push((one) => one === escaped)
    else if (character === '?') parts.push(() => true)
    else if (character === '*') parts.push('*')
    else parts.push((one) => one === character)
    at += bracket ? bracket[0].length : character.length + (escaped?.length ?? 0)
  }
  return parts
}

const CLASSES: Readonly<Record<string, string>> = {
  '[:alpha:]': 'a-zA-Z',
  '[:digit:]': '0-9',
  '[:alnum:]': 'a-zA-Z0-9',
  '[:upper:]': 'A-Z',
  '[:lower:]': 'a-z',
  '[:space:]': '\\s',
  '[:xdigit:]': '0-9a-fA-F',
}

function bracketOf(isNegated: boolean, inside: string): Part {
  const members = inside.replace(/\[:\w+:\]|\\.|[\\\]^[]/gsu, (part) => {
    if (part.startsWith('[:')) return CLASSES[part] ?? ''
    const character = part.length > 1 ? part.slice(1) : part
    return /[\\\]^[-]/u.test(character) ? `\\${character}` : character
  })
  // One character is looked at, so this cannot take long.
  const pattern = asExpression(`^[${isNegated ? '^' : ''}${members}]$`)
  return (character) => pattern?.test(character) ?? false
}

/** `[z-a]` fits nothing. */
function asExpression(source: string): RegExp | undefined {
  try {
    return new RegExp(source, 'su')
  } catch {
    return undefined
  }
}
