/** Which room of the house may look into which: the table of docs/architecture.md as a checkable value. */
import { Visitor } from 'vite'
import { importsOf, programOf } from './source-tree.ts'
import type { Files } from './source-tree.ts'

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

export const ROOMS: Record<string, Room> = {
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
    sees: DOOR_SEES,
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
    sees: ['contracts', 'trust', 'client'],
    instead: 'the MCP server is a client: call the gateway through src/client',
  },
  console: {
    holds: /^src\/console\//,
    sees: ['contracts', 'client'],
    instead: 'the console is a client: call the gateway through src/client',
  },
  cli: {
    holds: /^src\/cli\//,
    sees: ['contracts', 'client'],
    instead: 'the command line is a client: call the gateway through src/client',
  },
  observe: {
    holds: /^src\/observe\//,
    sees: ['contracts'],
    instead: 'observing knows nothing of what it observes',
  },
  config: {
    holds: /^src\/config\.ts$/,
    sees: ['contracts'],
    instead: 'settings are read first and know nothing of what they configure',
  },
  composition: {
    holds: /^src\/(main|system|services|listener|first-run)\.ts$/,
    sees: 'everything',
    instead: 'nothing of the product needs tests or scripts to run',
  },
  // Not the product: these may look anywhere, and nobody of the product may look at them.
  workshop: {
    holds: /^(test|scripts|bench)\/|^drizzle\.config\.ts$|\.test\.ts$/,
    sees: 'everything',
    instead: '',
  },
}

const roomOf = (path: string): string | undefined =>
  // Backwards, because a unit test beside its source belongs to the workshop.
  Object.keys(ROOMS).findLast((name) => ROOMS[name]?.holds.test(path))

/** Every import that looks into a room it must not, as sentences. */
export function forbiddenImports(files: Files): string[] {
  return [...files].flatMap(([path, text]) => {
    const name = roomOf(path)
    const room = name === undefined ? undefined : ROOMS[name]
    if (name === undefined || !room)
      return [`${path} stands in no room: give it one in test/repository/rooms.ts`]
    return importsOf(path, text)
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
export function importCircles(files: Files): string[] {
  const circles: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]) => {
    if (trail.includes(path)) circles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '))
    if (done.has(path) || trail.includes(path)) return
    const text = files.get(path)
    if (text === undefined) return
    for (const found of importsOf(path, text)) {
      if (found.ours && !found.typeOnly) visit(found.to, [...trail, path])
    }
    done.add(path)
  }
  for (const path of files.keys()) visit(path, [])
  return circles
}

/** Files of the product other than src/config.ts that read the environment. */
export function readersOfTheEnvironment(files: Files): string[] {
  return [...files]
    .filter(([path, text]) => !mayReadEnvironment(path) && readsEnvironment(path, text))
    .map(([path]) => path)
}

const mayReadEnvironment = (path: string): boolean => ['config', 'workshop'].includes(roomOf(path) ?? '')

function readsEnvironment(path: string, text: string): boolean {
  let reads = importsOf(path, text).some(({ to, typeOnly }) => !typeOnly && /^(node:)?process$/.test(to))
  new Visitor({
    MemberExpression: (node) => {
      const { object, property } = node
      const isEnv =
        property.type === 'Identifier' ? property.name === 'env' : property.type !== 'PrivateIdentifier'
      if (object.type === 'Identifier' && object.name === 'process' && (node.computed || isEnv)) reads = true
    },
    VariableDeclarator: ({ id, init }) => {
      if (id.type === 'ObjectPattern' && init?.type === 'Identifier' && init.name === 'process') reads = true
    },
  }).visit(programOf(path, text))
  return reads
}

/** Places in cores that ask the machine for the time or the network, which they should be given. */
export function coresThatReachOut(files: Files): string[] {
  return [...files]
    .filter(([path]) => roomOf(path) === 'cores')
    .flatMap(([path, text]) => {
      const found: string[] = []
      new Visitor({
        CallExpression: ({ callee }) => {
          if (callee.type === 'Identifier' && callee.name === 'fetch') found.push(`${path} calls fetch`)
          if (callee.type === 'Identifier' && callee.name === 'Date') found.push(`${path} calls Date()`)
        },
        MemberExpression: ({ object, property }) => {
          const name =
            object.type === 'Identifier' && property.type === 'Identifier'
              ? `${object.name}.${property.name}`
              : ''
          if (['Date.now', 'performance.now', 'globalThis.fetch'].includes(name))
            found.push(`${path} calls ${name}`)
        },
        NewExpression: (node) => {
          const isNow =
            node.callee.type === 'Identifier' && node.callee.name === 'Date' && node.arguments.length === 0
          if (isNow) found.push(`${path} calls new Date()`)
        },
      }).visit(programOf(path, text))
      return found
    })
}
