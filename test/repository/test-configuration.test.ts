/** A path of the test configuration that matches nothing is an error, and so is a test that no project runs. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { matchesGlob } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { countOperations, unanswered } from '../count-operations.ts'
import { FAILURES, FILES, TESTS } from '../hosted-exceptions.ts'
import { askedThird, SECONDS, shareOf, thirdOf } from '../long-thirds.ts'
import { files, matching } from '../matching.ts'
import { readProofs, withProofRuns, withRun } from '../proofs.ts'
import { resultOf } from '../record-proof.ts'
import { metOrMissed, readResults, resultsOf, withResults, type Result } from '../../bench/results.ts'
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
    .filter((file) => !/\/(image|built-image|fresh-clone)\.test\.ts$/.test(file))

  test('have a duration for every file that takes long, and for no other', () => {
    expect(Object.keys(SECONDS).toSorted()).toEqual(timed.toSorted())
  })

  test('take about as long, and have about as many walks', () => {
    const walks = files(['test/walks/**/*.test.ts'])
    for (const third of [1, 2, 3]) {
      const ours = timed.filter((file) => thirdOf(file) === third)
      const share = ours.reduce((sum, file) => sum + shareOf(file), 0)
      const all = timed.reduce((sum, file) => sum + shareOf(file), 0)
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
  const run = (commit: string, part: string, seconds = 1) => ({
    date: '2026-03-02',
    commit,
    part,
    machine: '2 x64 cores, Node 24',
    seconds,
    result: '1 passed',
  })

  test('is written down, the newest first, once for each part of a version', () => {
    expect(resultOf({ passed: 1_234, skipped: 5, failed: 0, failedFiles: 0 })).toBe('1,234 passed, 5 skipped')
    expect(resultOf({ passed: 1, skipped: 0, failed: 3, failedFiles: 2 })).toBe(
      '1 passed, 3 failed in 2 files',
    )
    const [now, other] = [run('abc', '2/3'), run('def', '2/3')]
    expect(withRun([other], now)).toEqual([now, other])
    expect(withRun([run('abc', '2/3', 9), other], now)).toEqual([now, other])
    const many = Array.from({ length: 12 }, (_, n) => run(`c${n}`, 'all'))
    expect(withRun(many, now)).toEqual([now, ...many.slice(0, 7)])
  })

  test('of one file is its last run, and of a file that is there', () => {
    const proof = (file: string, passed: number) => ({
      file,
      date: '2026-03-02',
      version: '0.1.0',
      commit: 'abc',
      machine: 'm',
      seconds: 1,
      passed,
      skipped: 0,
      failed: 0,
    })
    expect(withProofRuns([proof('b', 1), proof('c', 1)], [proof('b', 2), proof('a', 1)])).toEqual([
      proof('a', 1),
      proof('b', 2),
      proof('c', 1),
    ])
    for (const { file } of readProofs().proofs) expect(Object.keys(SECONDS)).toContain(file)
  })

  const about = { date: '2026-03-02', machine: 'm', commit: 'abc' }
  const result = (bench: string, what: string, by: Result['by'] = 'run'): Result => ({
    bench,
    what,
    measured: '1 ms',
    ratio: null,
    target: null,
    met: null,
    ...about,
    by,
  })

  test('of a bench are the lines it prints', () => {
    const lines = [
      'Node + bare PGlite   697 ms',
      'ratio                1.65x (target 1.5x: missed)',
      'Postgres, no filter',
      '  svc                10.10 ms',
      '12 tokens: 15.9 ms, 3.39x (target 3: met)',
    ]
    expect(resultsOf('cold-start', lines, about)).toEqual([
      { ...result('cold-start', 'Node + bare PGlite'), measured: '697 ms' },
      { ...result('cold-start', 'ratio'), measured: '1.65x', ratio: '1.65x', target: '1.5x', met: false },
      { ...result('cold-start', 'Postgres, no filter: svc'), measured: '10.10 ms' },
      {
        ...result('cold-start', '12 tokens'),
        measured: '15.9 ms, 3.39x',
        ratio: '3.39x',
        target: '3',
        met: true,
      },
    ])
  })

  test('of a bench with a target are met or missed', () => {
    const read = (line: string) => resultsOf('apps', [line], about)
    expect(read(`ratio  1.2x (target 1x: ${metOrMissed(false)}), 3 ms`)).toMatchObject([
      { measured: '1.2x, 3 ms', target: '1x', met: false },
    ])
    expect(read(`ratio  0.9x (target 1x: ${metOrMissed(true)})`)).toMatchObject([{ target: '1x', met: true }])
    for (const line of [
      'ratio  1.2x (target 1x: MISSED)',
      'ratio  1.2x (target 1x)',
      'ratio 1.2x (target 1x: met)',
    ])
      expect(() => read(line)).toThrow(line)
    const printed = readdirSync('bench')
      .filter((name) => name.endsWith('.ts') && name !== 'results.ts')
      .flatMap((name) => readFileSync(`bench/${name}`, 'utf8').split('\n'))
      .filter((line) => line.includes('(target ') && line.includes('`'))
    expect(printed.length).toBeGreaterThan(30)
    for (const line of printed) expect(line).toContain(': ${metOrMissed(')
  })

  test('of a bench replaces what its last run said, and leaves what came by hand', () => {
    const before = [
      result('a', 'old'),
      result('a', 'by hand', 'hand'),
      result('b', 'other'),
      result('a', 'moved', 'moved'),
    ]
    expect(withResults(before, [result('a', 'new')]).map(({ what }) => what)).toEqual([
      'by hand',
      'new',
      'other',
    ])
    const ofPart = withResults(before, [result('a', 'new')], { isPart: true })
    expect(ofPart.map(({ what }) => what)).toEqual(['old', 'by hand', 'moved', 'new', 'other'])
    expect(withResults(before, [result('b', 'other', 'hand')])).toEqual([
      ...before.filter(({ bench }) => bench === 'a'),
      result('b', 'other', 'hand'),
    ])
    for (const { target, met } of readResults()) expect(met === null).toBe(target === null)
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
