/**
 * `npm run build`: bundles the server into a folder of dist/server, which dist/server/current.json names. A start then loads some
 * forty files instead of a thousand, and strips no types. It still reads everything that is not code from the source tree, so
 * the folder belongs to its checkout or image.
 */
import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { build, type Plugin } from 'rolldown'

const ROOT = join(import.meta.dirname, '..')
const SOURCES = ['src', 'mcp', 'oauth', 'db'] as const

/** They find files of their own beside themselves. */
const EXTERNAL = [/^@electric-sql\//, /^@lat\.md\//, /^@node-rs\//]

/** A server that runs from a bundle loads some of it later: those before the current one stay for a while. */
const KEPT_BUNDLES = 3

/** A file that was changed so shortly before may be changed again within the same tick of the file system's clock. */
const SETTLED_MS = 2_000

/** What bin/server compares with the files of today. */
export type BundleInput = readonly [path: string, size: number, changedMs: number, sha256: string]
export type CurrentBundle = { readonly folder: string; readonly inputs: readonly BundleInput[] }

/** Writes `root`/dist/server from the sources in `root`. */
export async function buildServer(root = ROOT): Promise<void> {
  const bundles = join(root, 'dist', 'server')
  // Before building: what is saved meanwhile makes the bundle count as old.
  const inputs = inputsIn(root).map((path) => describe(root, path))
  const folder = digest(JSON.stringify(inputs.map(([path, , , sha256]) => [path, sha256]))).slice(0, 16)
  const partial = join(bundles, `${folder}.partial-${process.pid}`)
  try {
    await bundleInto(root, partial)
    keepOrReplace(partial, join(bundles, folder))
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
  // Whole or not at all: bin/server may read it at any moment.
  const current: CurrentBundle = { folder, inputs }
  writeFileSync(join(bundles, `current.partial-${process.pid}`), JSON.stringify(current))
  renameSync(join(bundles, `current.partial-${process.pid}`), join(bundles, 'current.json'))
  removeOldBundles(bundles, folder)
}

/**
 * All that may be part of it, and not what became part of it: a file that only passes on what others export leaves nothing
 * behind, and still decides what runs.
 */
function inputsIn(root: string): string[] {
  const sources = globSync(`{${SOURCES.join()}}/**/*.{ts,json}`, { cwd: root }).filter(
    (path) => !path.endsWith('.test.ts') && !path.startsWith('db/migrations/'),
  )
  return [...sources, BUILDER, 'package-lock.json'].toSorted()
}

/** The image is without it. */
const BUILDER = 'scripts/build-server.ts'

async function bundleInto(root: string, dir: string): Promise<void> {
  await build({
    cwd: root,
    input: entriesOf(root),
    platform: 'node',
    transform: { target: 'node22' },
    external: EXTERNAL,
    // Warnings are about packages.
    logLevel: 'silent',
    plugins: [fromSourceTree(root, dir), drizzleAsModules(root), sayingBundle(root)],
    output: {
      dir,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      // Names and lines stay, and a comment above each file's lines that says where they are from: stack traces are to be read.
      minify: 'dce-only',
      comments: { jsdoc: false },
    },
  })
}

function entriesOf(root: string): Record<string, string> {
  const entries: Record<string, string> = {}
  for (const path of ['src/boot/main.ts', ...globSync(`{${SOURCES.join()}}/**/*-worker.ts`, { cwd: root })]) {
    const name = basename(path, '.ts')
    if (name in entries) throw new Error(`Two entries of the bundle are called ${name}`)
    entries[name] = join(root, path)
  }
  return entries
}

/** The same sources make the same files, and a server may be running from them. Its time says when it was the current one. */
function keepOrReplace(partial: string, folder: string): void {
  if (existsSync(folder) && isDeepStrictEqual(readdirSync(partial), readdirSync(folder)))
    return utimesSync(folder, new Date(), new Date())
  rmSync(folder, { recursive: true, force: true })
  renameSync(partial, folder)
}

/** With them what killed builds have left. */
function removeOldBundles(bundles: string, current: string): void {
  const others = readdirSync(bundles, { withFileTypes: true })
    .filter(
      (entry) =>
        entry.isDirectory() && /^[0-9a-f]{16}(\.partial-\d+)?$/.test(entry.name) && entry.name !== current,
    )
    .map(({ name }) => ({ name, builtMs: statSync(join(bundles, name)).mtimeMs }))
    .toSorted((a, b) => b.builtMs - a.builtMs)
  for (const { name } of others.slice(KEPT_BUNDLES - 1))
    rmSync(join(bundles, name), { recursive: true, force: true })
}

/** By `ctime`, which nobody can set, unlike the time of its contents: a copy that keeps times is noticed. */
function describe(root: string, path: string): BundleInput {
  const { size, ctimeMs } = statSync(join(root, path))
  const settled = Date.now() - ctimeMs > SETTLED_MS
  return [path, size, settled ? ctimeMs : 0, digest(readFileSync(join(root, path)))]
}

const digest = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')

/** A module's own address stays that of its source, except for threads, which are bundled too. */
const fromSourceTree = (root: string, dir: string): Plugin => ({
  name: 'from source tree',
  transform: {
    filter: { id: /\.ts$/, code: 'import.meta' },
    handler(code, id) {
      if (!id.startsWith(root) || id.includes('node_modules')) return null
      const unknown = /import\.meta\.(?!(url|resolve)\b)\w+/.exec(code)
      if (unknown) throw new Error(`${relative(root, id)} uses ${unknown[0]}, which is not known here`)
      const source = JSON.stringify(relative(dir, id))
      return code.replaceAll(
        /new URL\('\.\/([\w-]+-worker)\.ts', import\.meta\.url\)|import\.meta\.url\b/g,
        (_, worker: string | undefined) =>
          worker === undefined
            ? `new URL(${source}, import.meta.url).href`
            : `new URL('./${worker}.js', import.meta.url)`,
      )
    },
  },
})

/** So that the log can say which of the two runs. */
const sayingBundle = (root: string): Plugin => ({
  name: 'saying bundle',
  transform: {
    filter: { id: /\/src\/boot\/runs-from\.ts$/ },
    handler(code, id) {
      if (id !== join(root, 'src', 'boot', 'runs-from.ts')) return null
      if (!code.includes(`= 'sources'`)) throw new Error('src/boot/runs-from.ts has another text')
      return code.replace(`= 'sources'`, `= 'bundle'`)
    },
  },
})

/** From sources it is loaded as CommonJS, see db/drizzle.ts; bundled, the reason is gone, and so is what nobody uses. */
const drizzleAsModules = (root: string): Plugin => ({
  name: 'drizzle as modules',
  load: {
    filter: { id: /\/db\/drizzle\.ts$/ },
    handler(id) {
      if (id !== join(root, 'db', 'drizzle.ts')) return null
      const imports: string[] = []
      const code = readFileSync(id, 'utf8')
        .replace(/^const require = .*$/m, '')
        .replaceAll(/require\('([\w/-]+)'\) as typeof import\('\1'\)/g, (_, name: string) => {
          imports.push(`import * as module${imports.length} from '${name}'`)
          return `module${imports.length - 1}`
        })
      if (/\brequire\(/.test(code))
        throw new Error('db/drizzle.ts loads something in a way that is not known here')
      return { code: [...imports, code].join('\n'), moduleType: 'ts' }
    },
  },
})

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await buildServer()
  console.log('built dist/server')
}
