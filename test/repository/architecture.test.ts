/** The rules between layers, checked over every real import; planted violations prove that the checks can see. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path/posix'
import { describe, expect, test } from 'vitest'
import {
  coresThatReachOut,
  forbiddenImports,
  importCircles,
  loadersOfDrizzle,
  MAY_MEASURE,
  readersOfTheEnvironment,
  testsThatMeasureTime,
  testsThatReadTheClock,
} from './imports.ts'
import { LAYER_NAMES, LAYERS, mayImport, type LayerName } from './layers.ts'
import { readText, readTree, ROOT, treeOf } from './source-tree.ts'

const tree = readTree()

describe('the tree', () => {
  test('no file imports a layer that is closed to it', () => {
    expect(forbiddenImports(tree)).toEqual([])
  })

  test('no modules import each other in a circle, not even for types', () => {
    expect(importCircles(tree)).toEqual([])
  })

  test('only the files that are there for it read the environment', () => {
    expect(readersOfTheEnvironment(tree)).toEqual([])
  })

  test('drizzle is loaded in one place', () => {
    expect(loadersOfDrizzle(tree)).toEqual([])
  })

  test('cores are given the time and the network', () => {
    expect(coresThatReachOut(tree)).toEqual([])
  })

  test('walks and the system they start never read real time', () => {
    expect(testsThatReadTheClock(tree)).toEqual([])
  })

  test('walks and units measure no time, but for a few that have a reason', () => {
    expect(testsThatMeasureTime(tree).toSorted()).toEqual(Object.keys(MAY_MEASURE).toSorted())
  })
})

type Planted = { path: string; line: string; allowed: boolean }

/** Folders at three depths: what a rule says must not depend on how deep a file lies. */
const depthsOf = (layer: LayerName): string[] =>
  LAYERS[layer].files.flatMap((root) =>
    root.endsWith('.ts') ? root : ['', 'one/', 'one/two/'].map((inner) => `${root}/${inner}planted.ts`),
  )

/** A file of each folder of a layer; one that cores show, where that matters. */
const filesOf = (layer: LayerName): string[] =>
  LAYERS[layer].files.map((root) => {
    const { partsShow } = LAYERS[layer]
    if (root.endsWith('.ts')) return root
    return `${root}/${partsShow ? `other/${partsShow}` : 'other.ts'}`
  })

const specifier = (from: string, to: string): string => relative(dirname(from), to).replace(/^(?!\.)/, './')

/** Every pair of layers in the table, imported for values and for types, from every depth. */
const PAIRS: readonly Planted[] = LAYER_NAMES.flatMap((from) =>
  LAYER_NAMES.filter((to) => to !== from).flatMap((to) =>
    depthsOf(from).flatMap((path) =>
      filesOf(to).flatMap((file, n) => {
        const how = mayImport(from, to)
        const at = specifier(path, file)
        const name = `${from}_${to}_${n}`
        return [
          { path, line: `import { ${name} } from '${at}'`, allowed: how === 'values' },
          { path, line: `import type { T_${name} } from '${at}'`, allowed: how !== 'nothing' },
        ]
      }),
    ),
  ),
)

const planted = (path: string, line: string, allowed = false): Planted => ({ path, line, allowed })
const CORE = 'src/cores/one/planted.ts'
const SINGLE: readonly Planted[] = [
  // Other ways to write an import.
  planted('src/http/planted.ts', "export const late = () => import('../boot/system.ts')"),
  planted('src/console/planted.ts', "export * from '../../db/connect.ts'"),
  planted('src/trust/planted.ts', "export { x } from '../http/mount.ts'"),
  planted('src/trust/planted.ts', "export type { T } from '../http/mount.ts'"),
  planted('src/http/planted.ts', "import './gateway.test.ts'"),
  // Packages.
  planted('src/contracts/planted.ts', "import * as z from 'zod'", true),
  ...['z', 'zo', 'zodd', 'zod/v3', 'hono', '@hono/node-server', 'node:fs', 'fs'].map((name) =>
    planted('src/contracts/planted.ts', `import '${name}'`),
  ),
  ...['hono', 'hono/cookie', '@hono/node-server', '@modelcontextprotocol/server', 'oidc-provider'].map(
    (name) => planted(CORE, `import '${name}'`),
  ),
  ...['openid-client', 'nodemailer', 'http', 'node:http', 'node:https', 'node:net', 'node:tls'].map((name) =>
    planted(CORE, `import '${name}'`),
  ),
  ...['node:crypto', 'honolulu', 'node:network'].map((name) => planted(CORE, `import '${name}'`, true)),
  planted('src/http/planted.ts', "import 'hono'", true),
  // Cores show other cores their index.ts; what lies directly in src/cores is shared and imports no core.
  planted('src/cores/planted.ts', "import './one/index.ts'"),
  planted('src/cores/planted.ts', "import './transaction.ts'", true),
  planted(CORE, "import '../transaction.ts'", true),
  planted(CORE, "import './two/x.ts'", true),
  planted(CORE, "import '../other/index.ts'", true),
  planted(CORE, "import type { Other } from '../other/index.ts'", true),
  ...['join.ts', 'index.test.ts', 'inde.ts', 'index.tsx', 'two/index.ts', 'in/index.ts'].map((file) =>
    planted(CORE, `import '../other/${file}'`),
  ),
  planted(CORE, "import type { Join } from '../other/join.ts'"),
  planted('src/cores/one/two/planted.ts', "import '../three/x.ts'", true),
  planted('src/cores/one/two/planted.ts', "import '../x.ts'", true),
  planted('src/cores/one/two/planted.ts', "import '../../transaction.ts'", true),
  planted('src/cores/one/two/planted.ts', "import '../../other/index.ts'", true),
  planted('src/cores/one/two/planted.ts', "import '../../other/join.ts'"),
  planted('src/cores/one/two/planted.ts', "import '../../other/three/index.ts'"),
  // Single files of a layer that is otherwise closed.
  ...LAYERS.oauth.mayImportFiles!.flatMap((file) => [
    planted('oauth/planted.ts', `import '../${file}'`, true),
    planted('oauth/one/two/planted.ts', `import '../../../${file}'`, true),
    planted('oauth/planted.ts', `import '../${file.replace('.ts', 's.ts')}'`),
  ]),
  planted('oauth/one/planted.ts', "import '../../src/http/gateway.ts'"),
  planted('oauth/one/planted.ts', "import '../../src/http/one/mount.ts'"),
  // Tests beside sources may import everything.
  planted('src/http/planted.test.ts', "import '../adapters/clock.ts'", true),
]
const PLANTED: readonly Planted[] = [...PAIRS, ...SINGLE]
const inWords = ({ path, line, allowed }: Planted) => `${path} ${allowed ? 'may' : 'must not'} say: ${line}`

describe('planted imports', () => {
  test('every pair of layers is among them, most of them closed', () => {
    const closed = PAIRS.filter(({ allowed }) => !allowed)
    expect(PAIRS.length).toBeGreaterThan(2 * LAYER_NAMES.length * (LAYER_NAMES.length - 1))
    expect(closed.length).toBeGreaterThan(PAIRS.length / 2)
  })

  test('the test sees each, and nothing else', () => {
    const wrong = PLANTED.filter(
      ({ path, line, allowed }) => (forbiddenImports(treeOf([[path, line]])).length === 0) !== allowed,
    )
    expect(wrong.map(inWords)).toEqual([])
  })

  test('oxlint sees each, and nothing else', () => {
    const refused = linted(PLANTED)
    const wrong = PLANTED.filter((row) => refused.has(row) === row.allowed)
    expect(wrong.map(inWords)).toEqual([])
  })

  // Erased by some compilers, loaded by Node: the linter takes it for a type, this test does not.
  test('a type among values is an import of values', () => {
    const line = "import { type Mail } from '../cores/identity/index.ts'"
    expect(forbiddenImports(treeOf([['src/adapters/x.ts', line]]))).toHaveLength(1)
  })

  test('a type named in place, and a file that is run by its URL, are imports', () => {
    const lines = [
      "type T = import('../http/x.ts').T",
      "new Worker(new URL('../http/x.ts', import.meta.url))",
    ]
    for (const line of lines) expect(forbiddenImports(treeOf([['src/trust/x.ts', line]]))).toHaveLength(1)
  })

  test('a file outside every layer is found', () => {
    expect(forbiddenImports(treeOf([['src/misc/x.ts', '']]))[0]).toContain('belongs to no layer')
  })

  test('a circle is found through any number of files, also of types alone', () => {
    const a = ['src/http/a.ts', "import './b.ts'"] as const
    const b = ['src/http/b.ts', "export const c = () => import('./c.ts')"] as const
    const back = ['src/http/c.ts', "export type { x } from './a.ts'"] as const
    const onward = ['src/http/c.ts', "import './d.ts'"] as const
    expect(importCircles(treeOf([a, b, back]))).toEqual([
      'src/http/a.ts -> src/http/b.ts -> src/http/c.ts -> src/http/a.ts',
    ])
    expect(importCircles(treeOf([a, b, onward]))).toEqual([])
  })

  test.each([
    'process.env.PORT',
    "process['env']",
    'const { env } = process',
    "import { env } from 'node:process'",
  ])('reading the environment is found: %s', (line) => {
    expect(readersOfTheEnvironment(treeOf([['src/http/x.ts', line]]))).toEqual(['src/http/x.ts'])
    expect(readersOfTheEnvironment(treeOf([['src/boot/config.ts', line]]))).toEqual([])
  })

  test('a file that loads drizzle itself is found, and not one that has its types', () => {
    const load = (line: string) => loadersOfDrizzle(treeOf([['test/walks/x.test.ts', line]]))
    expect(load("import { eq } from 'drizzle-orm'")).toEqual(['test/walks/x.test.ts'])
    expect(load("import { drizzle } from 'drizzle-orm/postgres-js'")).toHaveLength(1)
    expect(load("import type { SQL } from 'drizzle-orm'")).toEqual([])
    expect(load("import { eq } from '../../db/drizzle.ts'")).toEqual([])
  })

  test.each(['Date.now()', 'new Date()', 'performance.now()', "fetch('http://x')"])(
    'a core that reaches out is found: %s',
    (line) => {
      expect(coresThatReachOut(treeOf([['src/cores/identity/x.ts', line]]))).toHaveLength(1)
      expect(coresThatReachOut(treeOf([['src/http/x.ts', line]]))).toEqual([])
    },
  )

  test.each(['Date.now()', 'new Date()', 'Date()'])('a walk that reads real time is found: %s', (line) => {
    expect(testsThatReadTheClock(treeOf([['test/walks/x.test.ts', line]]))).toHaveLength(1)
    expect(testsThatReadTheClock(treeOf([['test/support/system.ts', line]]))).toHaveLength(1)
    expect(testsThatReadTheClock(treeOf([['test/long/x.test.ts', line]]))).toEqual([])
  })

  test.each(['test/walks/x.test.ts', 'src/cores/x/x.test.ts', 'mcp/x.test.ts'])(
    'a walk or unit that measures time is found: %s',
    (path) => {
      expect(testsThatMeasureTime(treeOf([[path, 'const began = performance.now()']]))).toEqual([path])
      for (const line of ['new Date()', 'Date.now()', 'performance.mark()'])
        expect(testsThatMeasureTime(treeOf([[path, line]]))).toEqual([])
    },
  )

  test.each(['src/cores/x/x.ts', 'test/long/x.test.ts', 'test/support/x.ts'])(
    'anybody else may measure time: %s',
    (path) => expect(testsThatMeasureTime(treeOf([[path, 'performance.now()']]))).toEqual([]),
  )

  test('turning a number into a date is not reading the clock', () => {
    expect(coresThatReachOut(treeOf([['src/cores/identity/x.ts', 'new Date(0)']]))).toEqual([])
  })
})

/** The rows to which oxlint objects, by the repository's own rules in a folder of its own; one run for all of them. */
function linted(rows: readonly Planted[]): ReadonlySet<Planted> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lint-'))
  try {
    // Without `options`: rules that need types would look for the compiler in this folder.
    const { options: _, ...rules } = JSON.parse(readText('.oxlintrc.json')) as Record<string, unknown>
    writeFileSync(join(folder, '.oxlintrc.json'), JSON.stringify(rules))
    writeFileSync(join(folder, '.oxlintrc.layers.json'), readText('.oxlintrc.layers.json'))
    const files = Map.groupBy(rows, ({ path }) => path)
    for (const [path, lines] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), lines.map(({ line }) => `${line}\n`).join(''))
    }
    const oxlint = spawnSync(join(ROOT, 'node_modules/.bin/oxlint'), ['--format=json'], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    })
    const { diagnostics } = JSON.parse(oxlint.stdout) as { diagnostics: Diagnostic[] }
    const refused = diagnostics.filter(({ code }) => code.includes('no-restricted-imports'))
    return new Set(
      refused.flatMap(({ filename, labels }) => files.get(filename)?.[labels[0].span.line - 1] ?? []),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

type Diagnostic = { code: string; filename: string; labels: [{ span: { line: number } }] }
