/**
 * `npm run build`: bundles the server into dist/server. A start then loads some forty files instead of a thousand, and strips
 * no types. It still reads everything that is not code from the source tree, so the folder belongs to its checkout or image.
 */
import { createHash } from 'node:crypto'
import { globSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'rolldown'

const ROOT = join(import.meta.dirname, '..')
const SOURCES = ['src', 'mcp', 'oauth', 'db'] as const

/** They find files of their own beside themselves, or are loaded by hardly anybody. */
const EXTERNAL = [/^@electric-sql\//, /^@lat\.md\//, /^@node-rs\//, /^@opentelemetry\//]

/** Writes `root`/dist/server from the sources in `root`. */
export async function buildServer(root = ROOT): Promise<void> {
  const dir = join(root, 'dist', 'server')
  rmSync(dir, { recursive: true, force: true })
  const workers = globSync(`{${SOURCES.join()}}/**/*-worker.ts`, { cwd: root })
  const { output } = await build({
    cwd: root,
    input: Object.fromEntries(
      ['src/boot/main.ts', ...workers].map((path) => [basename(path, '.ts'), join(root, path)]),
    ),
    platform: 'node',
    transform: { target: 'node22' },
    external: EXTERNAL,
    // Warnings are about packages.
    logLevel: 'silent',
    plugins: [fromSourceTree(root), drizzleAsModules(root)],
    output: {
      dir,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      // Keep names, so that stack traces are readable.
      minify: { mangle: false, compress: true, codegen: true },
    },
  })
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
  const own = modules
    .map((id) => relative(root, id))
    .filter((path) => SOURCES.some((folder) => path.startsWith(`${folder}/`)))
  const inputs = [...new Set([...own, 'package-lock.json'])].toSorted()
  // Last, and whole or not at all: without it the bundle counts as not there.
  writeFileSync(join(dir, 'inputs.partial'), JSON.stringify(inputs.map((path) => describe(root, path))))
  renameSync(join(dir, 'inputs.partial'), join(dir, 'inputs.json'))
}

/** By which bin/server sees that a source has changed since. */
function describe(root: string, path: string): readonly [string, number, number, string] {
  const { size, mtimeMs } = statSync(join(root, path))
  const digest = createHash('sha256')
    .update(readFileSync(join(root, path)))
    .digest('hex')
  return [path, size, mtimeMs, digest]
}

/** A module's own address stays that of its source, except for threads, which are bundled too. */
const fromSourceTree = (root: string): Plugin => ({
  name: 'from source tree',
  transform: {
    filter: { id: /\.ts$/, code: 'import.meta' },
    handler(code, id) {
      if (!id.startsWith(root) || id.includes('node_modules')) return null
      const to = (path: string) => JSON.stringify(relative(join(root, 'dist', 'server'), path))
      return code.replaceAll(
        /new URL\('\.\/([\w-]+-worker)\.ts', import\.meta\.url\)|import\.meta\.(url|dirname)\b/g,
        (_, worker: string | undefined, own: string | undefined) => {
          if (worker !== undefined) return `new URL('./${worker}.js', import.meta.url)`
          if (own === 'url') return `new URL(${to(id)}, import.meta.url).href`
          return `new URL(${to(dirname(id))}, import.meta.url).pathname`
        },
      )
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
