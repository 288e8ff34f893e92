/** A path of the test configuration that matches nothing is an error, and so is a test that no project runs. */
import { existsSync, readFileSync } from 'node:fs'
import { matchesGlob } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import { FAILURES, FILES, TESTS } from '../hosted-exceptions.ts'
import { matching } from '../matching.ts'
import main from '../vitest.config.ts'
import long from '../vitest.long.config.ts'
import { filesUnder } from './source-tree.ts'

const projects = [main, long].flatMap(({ test: { projects = [] } = {} }) =>
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
    expect([main, long].map((config) => config.test?.passWithNoTests ?? false)).toEqual([false, false])
  })

  test('has a project for every test file', () => {
    const files = ['src', 'mcp', 'oauth', 'db', 'bin', 'sdk', 'test', 'scripts', 'bench']
      .flatMap((folder) => filesUnder(folder))
      .filter((path) => path.endsWith('.test.ts'))
    expect(files.length).toBeGreaterThan(150)
    expect(files.filter((path) => !projects.some((project) => runs(project, path)))).toEqual([])
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

type Project = { include?: string[]; exclude?: string[] }

const runs = ({ include = [], exclude = [] }: Project, path: string): boolean =>
  include.some((pattern) => matchesGlob(path, pattern)) &&
  !exclude.some((pattern) => matchesGlob(path, pattern))
