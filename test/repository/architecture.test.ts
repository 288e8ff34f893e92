/** The house rules, checked over every real import statement; planted violations prove that the checks can see. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { coresThatReachOut, forbiddenImports, importCircles, readersOfTheEnvironment } from './rooms.ts'
import { readText, readTree, ROOT, treeOf } from './source-tree.ts'

const tree = readTree()

describe('the tree', () => {
  test('no file looks into a room that it must not see', () => {
    expect(forbiddenImports(tree)).toEqual([])
  })

  test('no modules load each other in a circle', () => {
    expect(importCircles(tree)).toEqual([])
  })

  test('only src/config.ts and src/cli/environment.ts read the environment', () => {
    expect(readersOfTheEnvironment(tree)).toEqual([])
  })

  test('cores are given the time and the network', () => {
    expect(coresThatReachOut(tree)).toEqual([])
  })
})

/** One broken wall per row. Both guards must see it: this test, and oxlint for whoever is writing at the moment. */
const PLANTED: readonly [path: string, line: string][] = [
  ['src/contracts/planted.ts', "import '../trust/keys.ts'"],
  ['src/contracts/planted.ts', "import 'hono'"],
  ['src/trust/planted.ts', "import '../../db/connect.ts'"],
  ['src/client/planted.ts', "import '../trust/keys.ts'"],
  ['db/planted.ts', "import '../src/cores/identity/index.ts'"],
  ['db/tables/planted.ts', "import '../../src/http/gateway.ts'"],
  ['src/cores/planted.ts', "import './identity/sign-in.ts'"],
  ['src/cores/identity/planted.ts', "import '../organizations/join.ts'"],
  ['src/cores/identity/planted.ts', "import '../../adapters/clock.ts'"],
  ['src/cores/identity/planted.ts', "import '../../system.ts'"],
  ['src/cores/identity/planted.ts', "import { Hono } from 'hono'"],
  ['src/cores/identity/planted.ts', "import { request } from 'node:http'"],
  ['src/adapters/mail/planted.ts', "import '../../cores/identity/index.ts'"],
  ['src/adapters/planted.ts', "import '../../db/connect.ts'"],
  ['src/http/planted.ts', "import '../adapters/clock.ts'"],
  ['src/http/planted.ts', "import '../worker/loop.ts'"],
  ['oauth/planted.ts', "import '../src/http/gateway.ts'"],
  ['oauth/pages/planted.ts', "import '../../src/http/idempotency.ts'"],
  ['src/worker/planted.ts', "import '../http/mount.ts'"],
  ['mcp/planted.ts', "import '../src/cores/identity/index.ts'"],
  ['mcp/planted.ts', "export * from '../db/connect.ts'"],
  ['src/console/planted.ts', "import '../trust/keys.ts'"],
  ['src/cli/planted.ts', "import '../http/answer.ts'"],
  ['src/site/planted.ts', "import '../../db/connect.ts'"],
  ['src/skills/planted.ts', "import '../client/call.ts'"],
  ['src/console/planted.ts', "import '../skills/bundle.ts'"],
  ['src/observe/planted.ts', "import '../http/answer.ts'"],
  ['src/pages/planted.ts', "import '../client/call.ts'"],
  ['src/http/planted.ts', "import '../pages/parts.ts'"],
  ['oauth/planted.ts', "import '../src/config.ts'"],
  ['src/http/planted.ts', "import '../observe/log.ts'"],
  ['src/http/planted.ts', "import '../../test/support/make.ts'"],
  ['src/http/planted.ts', "export const late = () => import('../system.ts')"],
]

const PERMITTED: readonly [path: string, line: string][] = [
  ['src/contracts/planted.ts', "import * as z from 'zod'"],
  ['src/cores/identity/planted.ts', "import '../organizations/index.ts'"],
  ['src/cores/identity/planted.ts', "import '../transaction.ts'"],
  ['src/cores/identity/planted.ts', "import '../../../db/tables/people.ts'"],
  ['src/adapters/mail/planted.ts', "import type { Mail } from '../../cores/identity/index.ts'"],
  ['src/cores/identity/planted.ts', "import type { Logger } from '../../observe/log.ts'"],
  ['src/observe/planted.ts', "import '../contracts/errors.ts'"],
  ['oauth/planted.ts', "import '../src/http/mount.ts'"],
  ['oauth/pages/planted.ts', "import '../../src/pages/parts.ts'"],
  ['mcp/planted.ts', "import '../src/client/call.ts'"],
  ['src/http/planted.test.ts', "import '../adapters/clock.ts'"],
  ['src/system.ts', "import './adapters/clock.ts'"],
]

describe('planted violations', () => {
  test.each(PLANTED)('%s must not say: %s', (path, line) => {
    expect(forbiddenImports(treeOf([[path, line]]))).toHaveLength(1)
  })

  test.each(PERMITTED)('%s may say: %s', (path, line) => {
    expect(forbiddenImports(treeOf([[path, line]]))).toEqual([])
  })

  test('a file outside every room is found', () => {
    expect(forbiddenImports(treeOf([['src/misc/x.ts', '']]))[0]).toContain('stands in no room')
  })

  test('a circle is found through any number of files, and not where one half is erased', () => {
    const a = ['src/http/a.ts', "import './b.ts'"] as const
    const b = ['src/http/b.ts', "export const c = () => import('./c.ts')"] as const
    const back = ['src/http/c.ts', "export { x } from './a.ts'"] as const
    const erased = ['src/http/c.ts', "export type { x } from './a.ts'"] as const
    expect(importCircles(treeOf([a, b, back]))).toEqual([
      'src/http/a.ts -> src/http/b.ts -> src/http/c.ts -> src/http/a.ts',
    ])
    expect(importCircles(treeOf([a, b, erased]))).toEqual([])
  })

  test.each([
    'process.env.PORT',
    "process['env']",
    'const { env } = process',
    "import { env } from 'node:process'",
  ])('reading the environment is found: %s', (line) => {
    expect(readersOfTheEnvironment(treeOf([['src/http/x.ts', line]]))).toEqual(['src/http/x.ts'])
    expect(readersOfTheEnvironment(treeOf([['src/config.ts', line]]))).toEqual([])
  })

  test.each(['Date.now()', 'new Date()', 'performance.now()', "fetch('http://x')"])(
    'a core that reaches out is found: %s',
    (line) => {
      expect(coresThatReachOut(treeOf([['src/cores/identity/x.ts', line]]))).toHaveLength(1)
      expect(coresThatReachOut(treeOf([['src/http/x.ts', line]]))).toEqual([])
    },
  )

  test('turning a number into a date is not reading the clock', () => {
    expect(coresThatReachOut(treeOf([['src/cores/identity/x.ts', 'new Date(0)']]))).toEqual([])
  })

  test('oxlint sees the same walls', () => {
    expect(linted(PLANTED)).toEqual(PLANTED)
    expect(linted(PERMITTED)).toEqual([])
  })
})

/** The rows to which oxlint objects, by the repository's own rules in a folder of its own. */
function linted(rows: readonly [path: string, line: string][]): [path: string, line: string][] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-lint-'))
  try {
    // Without `options`: rules that need types would look for the compiler in this folder.
    const { options: _, ...rules } = JSON.parse(readText('.oxlintrc.json')) as Record<string, unknown>
    writeFileSync(join(folder, '.oxlintrc.json'), JSON.stringify(rules))
    const paths = rows.map(([path, line], index) => {
      const own = path.replace(/(\.test)?\.ts$/, `-${index}$&`)
      mkdirSync(dirname(join(folder, own)), { recursive: true })
      writeFileSync(join(folder, own), `${line}\n`)
      return own
    })
    const oxlint = spawnSync(join(ROOT, 'node_modules/.bin/oxlint'), ['--format=json'], {
      cwd: folder,
      encoding: 'utf8',
    })
    const { diagnostics } = JSON.parse(oxlint.stdout) as { diagnostics: { code: string; filename: string }[] }
    const refused = diagnostics.filter(({ code }) => code.includes('no-restricted-imports'))
    return rows.filter((_, index) => refused.some(({ filename }) => filename === paths[index]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
