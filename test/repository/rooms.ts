/** Which room of the house may look into which: the table of docs/architecture.md as a checkable value. */
import { Visitor } from 'vite'
import type { ESTree } from 'vite'
import type { SourceFile, Tree } from './source-tree.ts'

type Room = {
  holds: RegExp
  /** Rooms it may import from; its own is understood. */
  sees: readonly string[] | 'everything'
  /** Rooms of which it may take types. */
  seesTypesOf?: readonly string[]
  /** Single files it may import from rooms that it otherwise may not see. */
  seesFiles?: readonly string[]
  /** Packages it may import; left out means any. */
  packages?: RegExp
  /** Said when the room is broken: what to do instead. */
  instead: string
}

const DOOR_SEES = ['contracts', 'trust', 'client', 'db', 'cores']
/** What every HTTP service is made of; the auth service wears the same clothes as the gateway, but does not know it. */
const HTTP_PARTS = ['mount', 'answer', 'authenticate', 'context', 'read-input', 'service-app'].map(
  (name) => `src/http/${name}.ts`,
)
const TRANSPORTS =
  /^(?!(hono|@hono|@modelcontextprotocol|oidc-provider|openid-client|nodemailer|(node:)?(http|https|http2|net|tls|dgram))(\/|$))/

const ROOMS: Record<string, Room> = {
  contracts: {
    holds: /^src\/contracts\//,
    sees: [],
    packages: /^zod(\/|$)/,
    instead: 'contracts say it and know zod only',
  },
  trust: {
    holds: /^src\/trust\//,
    sees: ['contracts'],
    instead: 'trust signs and verifies what it is given: pass rows and settings in as arguments',
  },
  client: {
    holds: /^src\/client\//,
    sees: ['contracts'],
    instead: 'everything else is on the far side of an HTTP call',
  },
  db: {
    holds: /^db\//,
    sees: ['contracts'],
    instead: 'rules belong into a core',
  },
  cores: {
    holds: /^src\/cores\//,
    sees: ['contracts', 'trust', 'db'],
    packages: TRANSPORTS,
    instead: 'declare a port type and let system.ts pass the thing in',
  },
  adapters: {
    holds: /^src\/adapters\//,
    sees: ['contracts'],
    seesTypesOf: ['cores'],
    instead:
      "adapters talk to the outside world and know of ours only contracts and the types of cores' ports",
  },
  http: {
    holds: /^src\/http\//,
    sees: DOOR_SEES,
    instead: 'doors do not know each other, and adapters come through needs',
  },
  oauth: {
    holds: /^oauth\//,
    sees: [...DOOR_SEES, 'pages'],
    seesFiles: HTTP_PARTS,
    instead: 'doors do not know each other, and adapters come through needs',
  },
  worker: {
    holds: /^src\/worker\//,
    sees: DOOR_SEES,
    instead: 'doors do not know each other, and adapters come through needs',
  },
  mcp: {
    holds: /^mcp\//,
    sees: ['contracts', 'trust', 'client', 'skills'],
    instead: 'the MCP server is a client: call the gateway through src/client',
  },
  pages: {
    holds: /^src\/pages\//,
    sees: ['contracts'],
    instead: 'pages draw what they are given',
  },
  console: {
    holds: /^src\/console\//,
    sees: ['contracts', 'client', 'pages'],
    instead: 'the console is a client: call the gateway through src/client',
  },
  skills: {
    holds: /^src\/skills\//,
    sees: ['contracts'],
    instead: 'the published bytes are the same for everybody and know nobody',
  },
  site: {
    holds: /^src\/site\//,
    sees: ['contracts', 'client', 'pages', 'skills'],
    instead: 'the site is a client: call the gateway through src/client',
  },
  cli: {
    holds: /^src\/cli\//,
    sees: ['contracts', 'client', 'skills'],
    instead: 'the command line is a client: call the gateway through src/client',
  },
  observe: {
    holds: /^src\/observe\//,
    sees: ['contracts'],
    instead: 'observing knows nothing of what it observes',
  },
  // What lies directly in src/ puts the parts together: it may look everywhere, and nobody may look at it.
  composition: {
    holds: /^src\/[^/]+\.ts$/,
    sees: 'everything',
    instead: 'nothing of the product needs tests or scripts to run',
  },
  config: {
    holds: /^src\/config\.ts$/,
    sees: ['contracts', 'observe'],
    instead: 'settings are read first and know nothing of what they configure',
  },
  // Not the product: these may look anywhere, and nobody of the product may look at them.
  workshop: {
    holds: /^(test|scripts|bench)\/|^drizzle\.config\.ts$|\.test\.ts$/,
    sees: 'everything',
    instead: '',
  },
}

const roomOf = (path: string): string | undefined =>
  // Backwards, because the later rows are exceptions: config.ts in src/, a unit test beside its source.
  Object.keys(ROOMS).findLast((name) => ROOMS[name]?.holds.test(path))

/** Every import that looks into a room it must not, as sentences. */
export function forbiddenImports(tree: Tree): string[] {
  return [...tree].flatMap(([path, { imports }]) => {
    const name = roomOf(path)
    const room = name === undefined ? undefined : ROOMS[name]
    if (name === undefined || !room)
      return [`${path} stands in no room: give it one in test/repository/rooms.ts`]
    return imports
      .filter((found) => !(found.ours ? maySee(name, room, path, found) : mayUse(room, found.to)))
      .map((found) => `${path} imports ${found.to}: ${room.instead}`)
  })
}

function maySee(name: string, room: Room, path: string, found: { to: string; typeOnly: boolean }): boolean {
  const target = roomOf(found.to)
  // Not code of a room (package.json, a text file): read, not imported from.
  if (target === undefined) return true
  if (name === 'cores' && target === 'cores') return mayMeet(path, found.to)
  if (target === name) return true
  if (target === 'workshop') return false
  if (room.sees === 'everything' || room.sees.includes(target)) return true
  if (found.typeOnly && room.seesTypesOf?.includes(target)) return true
  // Log, metrics and traces come through needs, so their types are known wherever there are needs.
  if (found.typeOnly && target === 'observe') return name !== 'contracts'
  return room.seesFiles?.includes(found.to) ?? false
}

/** A core shows other cores its index.ts; what lies directly in src/cores is shared and knows no single core. */
function mayMeet(path: string, to: string): boolean {
  const [from, target] = [coreOf(path), coreOf(to)]
  return target === undefined || target === from || (from !== undefined && to.endsWith('/index.ts'))
}

const coreOf = (path: string): string | undefined => /^src\/cores\/([^/]+)\//.exec(path)?.[1]

const mayUse = (room: Room, specifier: string): boolean => room.packages?.test(specifier) ?? true

/** Circles of imports that load each other; type imports are erased and cannot. */
export function importCircles(tree: Tree): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]) => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '))
    if (done.has(path) || trail.includes(path)) return
    for (const found of tree.get(path)?.imports ?? []) {
      if (found.ours && !found.typeOnly) visit(found.to, [...trail, path])
    }
    done.add(path)
  }
  for (const path of tree.keys()) visit(path, [])
  return circles
}

/** The server's settings and those of the client, which is another program. */
const MAY_READ_THE_ENVIRONMENT = ['src/config.ts', 'src/cli/environment.ts']

/** Files of the product other than those two that read the environment. */
export function readersOfTheEnvironment(tree: Tree): string[] {
  return [...tree]
    .filter(([path]) => roomOf(path) !== 'workshop' && !MAY_READ_THE_ENVIRONMENT.includes(path))
    .filter(([, file]) => readsEnvironment(file))
    .map(([path]) => path)
}

function readsEnvironment({ imports, program }: SourceFile): boolean {
  let reads = imports.some(({ to, typeOnly }) => !typeOnly && /^(node:)?process$/.test(to))
  new Visitor({
    MemberExpression: (node) => {
      if (nameOf(node) === 'process.env' || (node.computed && nameOf(node.object) === 'process')) reads = true
    },
    VariableDeclarator: ({ id, init }) => {
      if (id.type === 'ObjectPattern' && nameOf(init) === 'process') reads = true
    },
  }).visit(program)
  return reads
}

const REACHING_OUT = ['Date.now', 'performance.now', 'globalThis.fetch']

/** Places in cores that ask the machine for the time or the network, which they should be given. */
export function coresThatReachOut(tree: Tree): string[] {
  const cores = [...tree].filter(([path]) => roomOf(path) === 'cores')
  return cores.flatMap(([path, { program }]) => {
    const found: string[] = []
    new Visitor({
      CallExpression: ({ callee }) => {
        if (['fetch', 'Date'].includes(nameOf(callee))) found.push(`${path} calls ${nameOf(callee)}`)
      },
      MemberExpression: (node) => {
        if (REACHING_OUT.includes(nameOf(node))) found.push(`${path} uses ${nameOf(node)}`)
      },
      // With an argument it only turns a number or a text into a date.
      NewExpression: (node) => {
        if (nameOf(node.callee) === 'Date' && node.arguments.length === 0)
          found.push(`${path} says new Date()`)
      },
    }).visit(program)
    return found
  })
}

/** `a` or `a.b` as it is written, '' for anything longer. */
function nameOf(node: ESTree.Node | null | undefined): string {
  if (node?.type === 'Identifier') return node.name
  if (node?.type !== 'MemberExpression' || node.computed) return ''
  return node.object.type === 'Identifier' && node.property.type === 'Identifier'
    ? `${node.object.name}.${node.property.name}`
    : ''
}
