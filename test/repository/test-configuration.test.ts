/** A path of the test configuration that matches nothing is an error, and so is a test that no project runs. */
import { existsSync, readFileSync } from 'node:fs'
import { matchesGlob } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { countOperations, unanswered } from '../count-operations.ts'
import { FAILURES, FILES, TESTS } from '../hosted-exceptions.ts'
import { askedThird, SECONDS, thirdOf } from '../long-thirds.ts'
import { files, matching } from '../matching.ts'
import { rowOf, withRow } from '../record-proof.ts'
import main from '../vitest.config.ts'
import ha from '../vitest.ha.config.ts'
import long, { ASKED_FOR } from '../vitest.long.config.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { filesUnder } from './source-tree.ts'

const projects = [main, long, ha].flatMap(({ test: { projects = [] } = {} }) =>
  projects.map((project) => (project as TestProjectInlineConfiguration).test!),
)

describe('the test configuration', () => {
  test('refuses a pattern that matches no file', () => {
    expect(() => matching('test/walks/*.test.ts', 'test/nowhere/*.test.ts')).toThrow(
      'No file matches test/nowhere/*.test.ts',
    )
    expect(() => matching('test/walks/gone.test.ts')).toThrow('test/walks/gone.test.ts')
  })

  test('has no exception from hosted auth for a file or a test that is gone', () => {
    const files = [...Object.keys(FILES), ...Object.keys(TESTS), ...Object.keys(FAILURES)]
    expect(files.filter((file) => !existsSync(file))).toEqual([])
    for (const table of [TESTS, FAILURES]) {
      for (const [file, titles] of Object.entries(table)) {
        const source = readFileSync(file, 'utf8')
        expect([file, Object.keys(titles).filter((title) => !source.includes(title))]).toEqual([file, []])
      }
    }
  })

  test('lets no run pass that found no file', () => {
    expect([main, long, ha].map((config) => config.test?.passWithNoTests ?? false)).toEqual([
      false,
      false,
      false,
    ])
  })

  test('has a project for every test file', () => {
    const files = ['src', 'mcp', 'oauth', 'db', 'bin', 'sdk', 'test', 'scripts', 'bench']
      .flatMap((folder) => filesUnder(folder))
      .filter((path) => path.endsWith('.test.ts'))
    expect(files.length).toBeGreaterThan(150)
    const unasked = files.filter((path) => !projects.some((project) => runs(project, path)))
    expect(unasked).toEqual(ASKED_FOR.toSorted())
    expect(projects.some((project) => runs(project, 'test/support/x.test.ts'))).toBe(false)
  })

  test('runs every walk on both engines, in one of the two configurations', () => {
    const all = filesUnder('test/walks').filter((path) => path.endsWith('.test.ts'))
    const on = (engine: string) =>
      all.filter((path) =>
        projects.some(({ provide, ...project }) => provide?.engine === engine && runs(project, path)),
      )
    expect(on('pglite')).toEqual(all)
    // Without a server that has pgvector, these two would be the embedded run once more.
    const vectors = process.env['TEST_PGVECTOR_URL'] ? 0 : 2
    expect(on('postgres')).toHaveLength(all.length - vectors)
  })
})

describe('the thirds of the long tests', () => {
  const timed = ['browser', 'cli', 'conformance', 'long']
    .flatMap((folder) => files([`test/${folder}/*.test.ts`]))
    .filter((file) => !/\/(image|fresh-clone)\.test\.ts$/.test(file))

  test('have a duration for every file that takes long, and for no other', () => {
    expect(Object.keys(SECONDS).toSorted()).toEqual(timed.toSorted())
  })

  test('take about as long, and have about as many walks', () => {
    const walks = files(['test/walks/**/*.test.ts'])
    for (const third of [1, 2, 3]) {
      const ours = timed.filter((file) => thirdOf(file) === third)
      const share = ours.reduce((sum, file) => sum + SECONDS[file]!, 0)
      const all = timed.reduce((sum, file) => sum + SECONDS[file]!, 0)
      expect(Math.abs(share / all - 1 / 3)).toBeLessThan(0.02)
      const ofWalks = walks.filter((file) => thirdOf(file) === third).length / walks.length
      expect(Math.abs(ofWalks - 1 / 3)).toBeLessThan(0.1)
    }
  })

  test('are asked for by a number of three, or all are', () => {
    expect([undefined, '', '1/3', '3/3'].map((given) => askedThird(given))).toEqual([
      askedThird(),
      undefined,
      1,
      3,
    ])
    for (const given of ['ci', '0/3', '4/3', '2/4']) expect(() => askedThird(given)).toThrow('LONG_TESTS')
  })
})

describe('what a run proves', () => {
  const proof = {
    at: new Date('2026-03-02T10:00:00Z'),
    commit: 'abc',
    part: '2/3',
    where: '2 x64 cores, Node 24',
    seconds: 1_199.6,
    passed: 1_234,
    skipped: 5,
    failed: 0,
    failedFiles: 0,
  }
  const table = (...rows: string[]) =>
    ['| a |', '|---|---|---|---|---|---|', ...rows, '', 'And more.', ''].join('\n')

  test('is a row of docs/proofs.md, the newest first, one for each part of a version', () => {
    const row = rowOf(proof)
    expect(row).toBe(
      '| 2026-03-02 | `abc` | 2/3 | 2 x64 cores, Node 24 | 1,200 s | 1,234 passed, 5 skipped |',
    )
    expect(rowOf({ ...proof, part: 'all', failed: 3, failedFiles: 2 })).toContain(
      '| all | 2 x64 cores, Node 24 | 1,200 s | 1,234 passed, 5 skipped, 3 failed in 2 files |',
    )
    const other = rowOf({ ...proof, commit: 'def' })
    expect(withRow(table(other), row)).toBe(table(row, other))
    expect(withRow(table(rowOf({ ...proof, seconds: 1 }), other), row)).toBe(table(row, other))
    const many = Array.from({ length: 12 }, (_, n) => rowOf({ ...proof, commit: `c${n}` }))
    expect(withRow(table(...many), row)).toBe(table(row, ...many.slice(0, 7)))
    expect(() => withRow('# Nothing', row)).toThrow('docs/proofs.md')
    expect(withRow(readFileSync('docs/proofs.md', 'utf8'), row)).toContain(`|\n${row}\n`)
  })

  test('is nothing about an operation that no walk had an answer of', () => {
    const all = OPERATIONS.map(({ name }) => name)
    expect(unanswered([all.slice(0, 3), all.slice(3)])).toEqual([])
    expect(unanswered([all.slice(1, 3), all.slice(2)])).toEqual([all[0]])
    expect(main.test?.reporters).toContain(countOperations)
  })
})

type Project = { include?: string[]; exclude?: string[] }

const runs = ({ include = [], exclude = [] }: Project, path: string): boolean =>
  include.some((pattern) => matchesGlob(path, pattern)) &&
  !exclude.some((pattern) => matchesGlob(path, pattern))
