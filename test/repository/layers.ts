/**
 * The one table of layers: which folder may import which. docs/architecture.md explains it, imports.ts checks it, and
 * `npm run generate` turns it into the linter's rules.
 */

export type Layer = {
  /** Folders and single files from the root of the repository; the longest that fits a path decides. */
  files: readonly string[]
  /** Layers it may import; its own is understood. */
  mayImport: readonly LayerName[] | 'everything'
  /** Layers of which it may import types, by `import type`. */
  mayImportTypesOf?: readonly LayerName[]
  /** Single files it may import from layers that are otherwise closed to it. */
  mayImportFiles?: readonly string[]
  /** Each folder in it is a part that shows the others this file only; files beside the folders import no part. */
  partsShow?: string
  /** Packages it may import, or may not; left out means any. */
  packages?: { only: readonly string[] } | { never: readonly string[] }
  /** What to do instead of a forbidden import. */
  message: string
}

export type LayerName = (typeof LAYER_NAMES)[number]
export const LAYER_NAMES = [
  'contracts',
  'trust',
  'client',
  'db',
  'cores',
  'adapters',
  'http',
  'oauth',
  'worker',
  'agent',
  'mcp',
  'pages',
  'console',
  'skills',
  'site',
  'cli',
  'sdk',
  'observe',
  'boot',
  'config',
  'tooling',
] as const

const SERVICE_IMPORTS = ['contracts', 'trust', 'client', 'db', 'cores'] as const

const TRANSPORT_PACKAGES = [
  'hono',
  '@hono',
  '@modelcontextprotocol',
  'oidc-provider',
  'openid-client',
  'nodemailer',
] as const
const TRANSPORT_MODULES = ['http', 'https', 'http2', 'net', 'tls', 'dgram'].flatMap((name) => [
  name,
  `node:${name}`,
])

/** Log, metrics and traces are passed in with the dependencies, so only their types are imported. */
const TYPES_OF_OBSERVE = ['observe'] as const

/** Work that waits for its turn in a process, whatever it is: it knows no rows and no rules. */
const FAIR_QUEUE = ['src/cores/work/fair-queue.ts', 'src/cores/work/turns.ts'] as const

export const LAYERS: Record<LayerName, Layer> = {
  contracts: {
    files: ['src/contracts'],
    mayImport: [],
    packages: { only: ['zod'] },
    message: 'Contracts import zod and their own folder only.',
  },
  trust: {
    files: ['src/trust'],
    mayImport: ['contracts'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    message: 'Trust signs and verifies what it is given: pass rows and settings in as arguments.',
  },
  client: {
    files: ['src/client'],
    mayImport: ['contracts'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    message: 'The client imports contracts only: everything else is on the other side of an HTTP call.',
  },
  db: {
    files: ['db'],
    mayImport: ['contracts'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    message: 'The database imports contracts only: rules belong into a core.',
  },
  cores: {
    files: ['src/cores'],
    mayImport: ['contracts', 'trust', 'db'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    partsShow: 'index.ts',
    packages: { never: [...TRANSPORT_PACKAGES, ...TRANSPORT_MODULES] },
    message:
      "Cores import contracts, trust, db and other cores' index.ts: declare a port type and let src/boot pass the thing in.",
  },
  adapters: {
    files: ['src/adapters'],
    mayImport: ['contracts'],
    mayImportTypesOf: ['cores', 'observe'],
    mayImportFiles: FAIR_QUEUE,
    message: 'Adapters import contracts, the fair queue, and types of cores (the ports) by `import type`.',
  },
  http: {
    files: ['src/http'],
    mayImport: SERVICE_IMPORTS,
    mayImportTypesOf: TYPES_OF_OBSERVE,
    message: 'Entry points do not import each other, and adapters come with the dependencies.',
  },
  oauth: {
    files: ['oauth'],
    mayImport: [...SERVICE_IMPORTS, 'pages'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    // What every HTTP service is made of; the gateway itself is not among it.
    mayImportFiles: [
      'mount',
      'answer',
      'authenticate',
      'context',
      'in-process',
      'observe-request',
      'old-reads',
      'read-body',
      'read-input',
      'service-app',
    ].map((name) => `src/http/${name}.ts`),
    message:
      'Entry points do not import each other (of src/http only what every service is made of), and adapters come with the dependencies.',
  },
  worker: {
    files: ['src/worker'],
    mayImport: SERVICE_IMPORTS,
    mayImportTypesOf: TYPES_OF_OBSERVE,
    message: 'Entry points do not import each other, and adapters come with the dependencies.',
  },
  agent: {
    files: ['src/agent-runner'],
    mayImport: ['contracts', 'trust', 'client'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    mayImportFiles: ['answer', 'authenticate', 'read-body', 'service-app'].map(
      (name) => `src/http/${name}.ts`,
    ),
    message:
      'The agent-runner holds model keys and no database handle: call the tool host through src/client.',
  },
  mcp: {
    files: ['mcp'],
    mayImport: ['contracts', 'trust', 'client', 'skills'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    mayImportFiles: FAIR_QUEUE,
    message: 'The MCP server is a client: call the gateway through src/client.',
  },
  pages: {
    files: ['src/pages'],
    mayImport: ['contracts'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    message: 'Pages draw what they are given.',
  },
  console: {
    files: ['src/console'],
    mayImport: ['contracts', 'client', 'pages'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    mayImportFiles: FAIR_QUEUE,
    message: 'The console is a client: call the gateway through src/client.',
  },
  skills: {
    files: ['src/skills'],
    mayImport: ['contracts'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    message: 'The published bytes are the same for everybody: contracts only.',
  },
  site: {
    files: ['src/site'],
    mayImport: ['contracts', 'client', 'pages', 'skills'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    message: 'The site is a client: call the gateway through src/client.',
  },
  cli: {
    files: ['src/cli'],
    mayImport: ['contracts', 'client', 'skills'],
    mayImportTypesOf: TYPES_OF_OBSERVE,
    message: 'The command line is a client: call the gateway through src/client.',
  },
  sdk: {
    files: ['sdk'],
    mayImport: [],
    packages: { only: ['node:fs', 'node:fs/promises', 'node:os', 'node:timers/promises'] },
    message:
      'The worker SDK is published by itself, without dependencies: it speaks HTTP, and imports nothing of ours.',
  },
  observe: {
    files: ['src/observe'],
    mayImport: ['contracts'],
    message: 'Log, metrics and traces know nothing of what they observe: contracts only.',
  },
  // Puts the parts together: it may import everything, and nothing else of the product may import it.
  boot: {
    files: ['src/boot', 'src/sample'],
    mayImport: 'everything',
    message: 'Nothing of the product needs tests or scripts to run.',
  },
  config: {
    files: ['src/boot/config.ts'],
    mayImport: ['contracts', 'observe'],
    message: 'Settings are read first and know nothing of what they configure.',
  },
  // Not the product: it may import everything, and nothing of the product may import it. Unit tests belong to it too.
  tooling: {
    files: ['test', 'scripts', 'bench', 'drizzle.config.ts'],
    mayImport: 'everything',
    message: '',
  },
}

export function layerOf(path: string): LayerName | undefined {
  if (path.endsWith('.test.ts')) return 'tooling'
  const fitting = LAYER_NAMES.flatMap((name) =>
    LAYERS[name].files
      .filter((root) => path === root || path.startsWith(`${root}/`))
      .map((root) => ({ name, root })),
  )
  return fitting.toSorted((a, b) => b.root.length - a.root.length)[0]?.name
}

/** How one layer may import another. Nothing of the product imports tooling, whatever else it may import. */
export function mayImport(from: LayerName, to: LayerName): 'values' | 'types' | 'nothing' {
  const layer = LAYERS[from]
  if (from === to) return 'values'
  if (to === 'tooling') return 'nothing'
  if (layer.mayImport === 'everything' || layer.mayImport.includes(to)) return 'values'
  return layer.mayImportTypesOf?.includes(to) ? 'types' : 'nothing'
}
