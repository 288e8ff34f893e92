import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { readUstar, writeUstar } from './ustar.ts'

const files = (...paths: string[]) => paths.map((path) => ({ path, bytes: Buffer.from(`# ${path}\n`) }))

test('what is written can be read, empty files and whole blocks included', () => {
  const entries = [0, 1, 511, 512, 513].map((size) => ({
    path: `f${size}.md`,
    bytes: Buffer.alloc(size, 'x'),
  }))
  expect(readUstar(writeUstar(entries))).toEqual(entries)
})

test('tar reads it: names as given, owner 0, mode 644, one time for all', () => {
  const archive = writeUstar(files('SKILL.md', 'references/a.md'))
  const list = execFileSync('tar', ['--utc', '-tvf', '-'], { input: archive, encoding: 'utf8' })
  expect(list.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^-rw-r--r-- 0\/0 +11 1985-10-26 08:15 SKILL\.md$/),
    expect.stringMatching(/^-rw-r--r-- 0\/0 +18 1985-10-26 08:15 references\/a\.md$/),
  ])
})

test.each([
  './SKILL.md',
  '../SKILL.md',
  '/SKILL.md',
  'a//b.md',
  'a/../b.md',
  'a\\b.md',
  '',
  'a/',
  'a'.repeat(100),
])('a file cannot be called %j: installers silently drop such a skill', (path) => {
  expect(() => writeUstar(files(path))).toThrow('no name for a file of a skill')
})
