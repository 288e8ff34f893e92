/** The words that are not to be used, each with the one to use instead, and where they are looked for. */
import { Visitor } from 'vite'
import type { SourceFile, Tree } from './source-tree.ts'

type Area = 'identifiers' | 'comments' | 'tables' | 'paths' | 'texts' | 'docs'

type Rule = {
  /** Small letters; several words follow each other. Names are cut into words where they change case. */
  not: readonly string[]
  say: string
  in: readonly Area[]
  /** Files it holds for; left out means all. */
  files?: RegExp
  /** Names that mean something else, as they are written. */
  names?: readonly string[]
  /** What may stand around the word where it is ordinary English. */
  around?: RegExp
}

const EVERYWHERE = ['identifiers', 'comments', 'tables', 'paths', 'texts', 'docs'] as const
const NAMES = ['identifiers', 'tables', 'paths'] as const
const PROSE = ['comments', 'texts', 'docs'] as const

/** Where an integration is what the code or the text is about. */
const ABOUT_INTEGRATIONS =
  /^(src\/contracts\/(integrations|deliveries|subscriptions)\.ts|src\/cores\/notifications\/|src\/console\/pages\/(integrations|subscriptions|deliveries)\/|docs\/notifications\.md|skills\/.*notifications.*\.md|\/api\/(integrations|notifications))/

const RULES: readonly Rule[] = [
  { not: ['door', 'doors'], say: 'entry point', in: EVERYWHERE, around: /class="mark-door"/ },
  { not: ['house', 'houses'], say: 'system or installation', in: EVERYWHERE },
  {
    not: ['stranger', 'strangers'],
    say: 'who it is: anybody, another user, an unknown address',
    in: EVERYWHERE,
  },
  { not: ['knock', 'knocks', 'knocking'], say: 'call or request', in: EVERYWHERE },
  // An icon is called by what it shows.
  { not: ['bell', 'bells'], say: 'signal or notification', in: EVERYWHERE, files: /^(?!src\/pages\/)/ },
  { not: ['flock'], say: 'batch', in: EVERYWHERE },
  { not: ['luck'], say: 'jitter or random', in: EVERYWHERE },
  { not: ['ripe'], say: 'due', in: EVERYWHERE },
  { not: ['clothes'], say: 'what it is: layout, middleware, form', in: EVERYWHERE },
  { not: ['workshop'], say: 'tooling', in: EVERYWHERE },
  {
    not: ['wall', 'walls'],
    say: 'layer, rule or limit',
    in: ['identifiers', 'comments'],
    names: ['wall', 'wallMs'],
    around: /wall[ -](clock|time)/i,
  },
  {
    not: ['room', 'rooms'],
    say: 'layer (or capacity)',
    in: [...NAMES, ...PROSE],
    names: [
      'room',
      'hasRoom',
      'makeRoom',
      'requireRoom',
      'requireRoomForOneMore',
      'copyRoom',
      'COPY_ROOM_BYTES',
      'ROOM_FOR_WORDS',
    ],
    around: /\b(no|has|is|most|make|makes|made|enough|more|waits for) (no )?room\b|\broom (for|in|to)\b/i,
  },
  // Elsewhere, and in prose, it is one of the alphabet.
  {
    not: ['letter', 'letters'],
    say: 'message',
    in: NAMES,
    files: /^(src\/(cores\/notifications|worker|adapters)\/|test\/|\/|\w+(\.\w+)?$)/,
    names: ['SHOWN_LETTERS', 'SECRET_LETTERS_MIN', 'MAC_LETTERS'],
  },
  {
    not: ['visit', 'visits', 'visitor', 'visitors'],
    say: 'support session (or session, user)',
    in: NAMES,
    // The walk over a syntax tree has these names in the library.
    names: ['Visitor', 'visit'],
    files: /^(?!test\/repository\/)/,
  },
  {
    not: ['visit', 'visits'],
    say: 'support session',
    in: PROSE,
    around: /(\b(to|must|may|can|who|they|people|you|whoever)|'s) visits?\b|\bvisit (the|https?:|<)/i,
  },
  { not: ['visitor', 'visitors'], say: 'user, or vendor staff', in: ['texts', 'docs'] },
  { not: ['caller', 'callers'], say: 'principal (who calls) or httpClient (what calls)', in: NAMES },
  { not: ['needs'], say: 'deps', in: ['identifiers'], around: /^needs[A-Z]|^NEEDS_/ },
  { not: ['sends'], say: 'messages', in: NAMES, names: ['sendsMail'] },
  { not: ['send id', 'send targets', 'send target'], say: 'message', in: NAMES },
  { not: ['seed', 'seeds'], say: 'default subscription', in: ['tables', 'paths'] },
  {
    not: ['connection', 'connections'],
    say: 'integration',
    in: ['identifiers', 'paths', 'texts', 'docs'],
    files: ABOUT_INTEGRATIONS,
    names: ['Connection', 'connection_refused'],
    around:
      /connection string|(database|TCP|network) connections?|connection (to|ended|broke|refused|reset)\b/i,
  },
  // Words people read.
  { not: ['take back', 'take it back'], say: 'Revoke', in: ['texts', 'docs'] },
  { not: ['make the token'], say: 'Create token', in: ['texts', 'docs'] },
  { not: ['exists since'], say: 'Created', in: ['texts', 'docs'] },
  { not: ['small letters'], say: 'lowercase letters', in: ['texts', 'docs'] },
  {
    not: ['comes back'],
    say: 'Returned columns',
    in: ['texts'],
    files: /data-sources/,
    around: /what comes back/i,
  },
  { not: ['of 100 were faster'], say: 'p95', in: ['texts', 'docs'] },
]

/** Pages that people read: what their files say in quotes is text. */
const TEXTS = /^(src\/console\/|src\/pages\/|src\/site\/|oauth\/pages\/|oauth\/connector\/consent-page)/

/** Findings in source files: their names, identifiers, comments, and the texts of pages. */
export function wrongWordsInSources(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => !OWN_FILES.test(path))
    .flatMap(([path, file]) => {
      const names = new Set([path.replace(/^.*\//, ''), ...identifiersOf(file)])
      const texts = TEXTS.test(path) && !path.endsWith('.test.ts') ? textsOf(file) : []
      return [
        ...[...names].flatMap((name) => wrongNames('identifiers', path, name)),
        ...file.comments.flatMap((comment) => wrongProse('comments', path, comment)),
        ...texts.flatMap((text) => wrongProse('texts', path, text)),
      ]
    })
}

/** They have to name what they forbid. */
const OWN_FILES = /^test\/repository\/glossary/

export const wrongWordsInPaths = (paths: readonly string[]): string[] =>
  paths.flatMap((path) => wrongNames('paths', path, path))

/** Names of tables and their columns in the text of a schema. */
export function wrongWordsInTables(schema: string): string[] {
  const names = [...schema.matchAll(/^CREATE TABLE (\w+) \(\n([^]*?)^\);/gm)].flatMap(
    ([, table = '', body = '']) => [
      table,
      ...[...body.matchAll(/^ {2}(\w+) /gm)].map(([, column = '']) => `${table}.${column}`),
    ],
  )
  return names.flatMap((name) => wrongNames('tables', name, name.replace(/^.*\.(?=\w)/, '')))
}

export const wrongWordsInDoc = (path: string, text: string): string[] =>
  // What stands in code or leads somewhere is an exact name, and found where it is defined.
  wrongProse('docs', path, text.replaceAll(/```[^]*?```|`[^`\n]*`|\]\([^)\s]+\)/g, ''))

function wrongNames(area: Area, path: string, name: string): string[] {
  if (!MAYBE.test(name)) return []
  const words = ` ${wordsOf(name).join(' ')} `
  return rulesFor(area, path).flatMap(({ not, say, names, around }) =>
    names?.includes(name) || around?.test(name)
      ? []
      : not.filter((word) => words.includes(` ${word} `)).map(() => `${path}: ${name}: say ${say}`),
  )
}

function wrongProse(area: Area, path: string, text: string): string[] {
  if (!MAYBE.test(text)) return []
  return rulesFor(area, path).flatMap(({ not, say, around }) =>
    [...text.matchAll(new RegExp(`\\b(${not.join('|')})\\b`, 'gi'))]
      .map(({ index, 0: word }) => text.slice(Math.max(0, index - 24), index + word.length + 24))
      .filter((near) => !around?.test(near))
      .map((near) => `${path}: “…${near.replaceAll(/\s+/g, ' ').trim()}…”: say ${say}`),
  )
}

/** Most names and texts have none of the words in them, which one look tells. */
const MAYBE = new RegExp(
  RULES.flatMap(({ not }) => not.map((words) => words.replace(' ', '.?'))).join('|'),
  'i',
)

const rulesFor = (area: Area, path: string): Rule[] =>
  RULES.filter((rule) => rule.in.includes(area) && (rule.files?.test(path) ?? true))

/** `listHTTPRoutes`, `list_http_routes` and `list-http-routes` are the same three words. */
const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/([a-z0-9])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$2 ')
    .toLowerCase()
    .split(/[^a-z0-9]+/)

function identifiersOf({ program }: SourceFile): Set<string> {
  const names = new Set<string>()
  new Visitor({ Identifier: ({ name }) => void names.add(name) }).visit(program)
  return names
}

function textsOf({ program }: SourceFile): string[] {
  const texts: string[] = []
  new Visitor({
    Literal: ({ value }) => {
      // A single word is a code or a name; a path is neither.
      if (typeof value === 'string' && /\s/.test(value)) texts.push(value)
    },
    TemplateElement: ({ value }) => void texts.push(value.cooked ?? value.raw),
  }).visit(program)
  return texts
}
